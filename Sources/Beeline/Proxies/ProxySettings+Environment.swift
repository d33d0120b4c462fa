// SPDX-License-Identifier: Apache-2.0

import DirectHTTP
import Names

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension ProxySettings {
    /// What this process's environment says.
    public static var environment: ProxySettings {
        ProxySettings(environment: ProcessInfo.processInfo.environment)
    }

    /// Reads `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy` as curl does: the names in lower case, all but the first
    /// in upper case too (`HTTP_PROXY` can be set by whoever sends a request to a CGI program). A value that is not a proxy's
    /// URL is passed over; a scheme that is missing means `http`.
    public init(environment: [String: String]) {
        let value = { (name: String) in
            [environment[name], environment[name.uppercased()]].compactMap(\.self).first { !$0.isEmpty }
        }
        let all = value("all_proxy").flatMap(Proxy.init(parsing:))
        self.init(
            http: environment["http_proxy"].flatMap(Proxy.init(parsing:)) ?? all,
            https: value("https_proxy").flatMap(Proxy.init(parsing:)) ?? all,
            exceptions: ProxyExceptions(parsing: value("no_proxy") ?? "")
        )
    }
}
