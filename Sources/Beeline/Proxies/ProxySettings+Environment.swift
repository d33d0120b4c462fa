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

extension Proxy {
    /// Reads `[http://][user:password@]host[:port]`; the port is 1080 where none is given, as in curl. Nil for anything else.
    public init?(parsing text: String) {
        let full = text.contains("://") ? text : "http://" + text
        guard let url = try? HTTPURL(full), url.origin.scheme == .http else { return nil }
        let hasPort = full.dropFirst(7).contains { $0 == ":" } && Self.namesPort(full)
        self.init(
            origin: Origin(scheme: .http, host: url.host, port: hasPort ? url.origin.port : 1080),
            user: url.user,
            password: url.password
        )
    }

    /// Whether the authority ends in `:port`; the URL's own port says 80 for none.
    private static func namesPort(_ url: String) -> Bool {
        let authority = url.dropFirst(7).prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        let host = authority.split(separator: "@").last ?? ""
        return host.last?.isNumber == true && host.split(separator: "]").last?.contains(":") == true
    }
}
