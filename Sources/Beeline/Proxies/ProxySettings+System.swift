// SPDX-License-Identifier: Apache-2.0

import DirectHTTP
import Names

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

#if canImport(CFNetwork)
import CFNetwork
#endif

extension ProxySettings {
    /// The default proxies: those of the environment. On Apple platforms, if the environment sets none, those of the system
    /// settings.
    public static var standard: ProxySettings {
        let environment = environment
        #if canImport(CFNetwork)
        if environment.namesNoProxy,
            let settings = CFNetworkCopySystemProxySettings()?.takeRetainedValue() as? [String: Any]
        {
            return ProxySettings(systemSettings: settings)
        }
        #endif
        return environment
    }

    /// Parses the dictionary of Apple's `CFNetworkCopySystemProxySettings`. Automatic configuration (a PAC file) is not
    /// supported.
    ///
    /// - Parameter settings: The dictionary. It reads `HTTPEnable`, `HTTPProxy`, `HTTPPort`, the same for `HTTPS` and `SOCKS`,
    ///   `ExceptionsList` and `ExcludeSimpleHostnames`, and ignores other keys.
    package init(systemSettings settings: [String: Any]) {
        func proxy(_ name: String, kind: Proxy.Kind, defaultPort: UInt16) -> Proxy? {
            guard settings["\(name)Enable"] as? Int == 1, let text = settings["\(name)Proxy"] as? String,
                let host = try? Host(text)
            else { return nil }
            let port = (settings["\(name)Port"] as? Int).flatMap(UInt16.init(exactly:)) ?? defaultPort
            return Proxy(kind, origin: Origin(scheme: .http, host: host, port: port))
        }
        let socks = proxy("SOCKS", kind: .socks5, defaultPort: 1080)
        var exceptions = (settings["ExceptionsList"] as? [String] ?? []).map(Self.completed)
        if settings["ExcludeSimpleHostnames"] as? Int == 1 { exceptions.append("<local>") }
        self.init(
            http: proxy("HTTP", kind: .http, defaultPort: 80) ?? socks,
            https: proxy("HTTPS", kind: .http, defaultPort: 80) ?? socks,
            exceptions: ProxyExceptions(parsing: exceptions.joined(separator: ","))
        )
    }

    /// Completes a shortened network: the system writes `169.254/16` for `169.254.0.0/16`.
    private static func completed(_ exception: String) -> String {
        let parts = exception.split(separator: "/", maxSplits: 1)
        guard parts.count == 2, parts[0].allSatisfy({ $0.isNumber || $0 == "." }) else { return exception }
        let octets = parts[0].split(separator: ".")
        guard octets.count < 4 else { return exception }
        let padding = [Substring](repeating: "0", count: 4 - octets.count)
        return (octets + padding).joined(separator: ".") + "/" + parts[1]
    }
}
