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
    /// in upper case too (`HTTP_PROXY` can be set by whoever sends a request to a CGI program). A scheme that is missing means
    /// `http`. Where a value is none that can be used (`socks4`, a port that is none), requests for which it counts end with
    /// `proxyUnresolved`, for they must not go past the proxy that was meant.
    public init(environment: [String: String]) {
        let variable = { (names: [String]) in
            names.lazy.compactMap { name in environment[name].map { (name: name, value: $0) } }
                .first { !$0.value.isEmpty }
        }
        let all = ["all_proxy", "ALL_PROXY"]
        let http = variable(["http_proxy"] + all)
        let https = variable(["https_proxy", "HTTPS_PROXY"] + all)
        self.init(
            http: http.flatMap { Proxy(parsing: $0.value) },
            https: https.flatMap { Proxy(parsing: $0.value) },
            exceptions: ProxyExceptions(parsing: variable(["no_proxy", "NO_PROXY"])?.value ?? "")
        )
        let unusable = Unusable(http: self.http == nil ? http?.name : nil, https: self.https == nil ? https?.name : nil)
        if unusable != Unusable() { self.unusable = unusable }
    }
}
