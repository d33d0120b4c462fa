// SPDX-License-Identifier: Apache-2.0

import DirectHTTP
import Names

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension ProxySettings {
    package static var environment: ProxySettings {
        ProxySettings(environment: ProcessInfo.processInfo.environment)
    }

    /// Parses `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy` as curl does. All names but the first may also be
    /// in upper case, because the client of a CGI program can set `HTTP_PROXY`. The default scheme is `http`. If a
    /// value is not usable (`socks4`, an invalid port), the requests that need it fail with `proxyUnresolved`. They
    /// must not bypass the intended proxy.
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
