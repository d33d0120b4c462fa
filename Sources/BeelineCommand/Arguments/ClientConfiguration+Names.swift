// SPDX-License-Identifier: Apache-2.0

import Beeline

extension ClientConfiguration {
    /// Makes the client configuration for any command that resolves names.
    init(_ names: NameOptions, defaults: Defaults, files: InputFiles) throws(CommandFailure) {
        self.init()
        let (specs, folder) = names.dns.isEmpty ? (defaults.dns, defaults.dnsFolder) : (names.dns, nil)
        if !specs.isEmpty {
            upstreams = try specs.map { spec throws(CommandFailure) in
                do throws(UpstreamError) {
                    return try UpstreamSpec(parsing: spec, filesIn: folder)
                } catch {
                    // The library does not know where the SPEC is written.
                    let place = names.dns.isEmpty ? defaults.dnsPlace : "--dns"
                    let message = error.message.dropping(prefix: "upstream ") ?? error.message[...]
                    throw CommandFailure(.usage, "\(place) \(message)")
                }
            }
        }
        resolver.families = names.families
        resolver.usesHTTPSRecords = names.usesHTTPSRecords
        resolver.check.allowsLocalAnswers = names.allowsLocalAnswers || defaults.allowsLocalAnswers
        // Upstreams in the arguments win over the configuration file.
        isHTTPDNSEnabled = defaults.httpdns || !names.dns.isEmpty
        for path in names.cacert.isEmpty ? defaults.cacert : names.cacert {
            try tls.trust(path, option: "--cacert", files)
        }
    }

    /// Returns the proxies from `-x` and `--noproxy`, the configuration file, or the environment.
    static func proxies(
        _ proxy: String?,
        except noproxy: String?,
        _ defaults: Defaults
    ) throws(CommandFailure) -> ProxySettings {
        var settings = ProxySettings(environment: defaults.environment)
        if let text = proxy ?? defaults.proxy {
            if text.isEmpty { return .none }
            guard let proxy = Proxy(parsing: text) else {
                // As in curl, a scheme that is not supported is a failure to connect.
                let rest = text.split(separator: "://", maxSplits: 1).last.map(String.init) ?? text
                throw CommandFailure(
                    Proxy(parsing: rest) == nil ? .proxyUnresolved : .connectFailed,
                    "the proxy \"\(text.withoutLogin)\": write http://, https:// or socks5h://host:port"
                )
            }
            settings.http = proxy
            settings.https = proxy
        }
        if let list = noproxy ?? defaults.noproxy { settings.exceptions = ProxyExceptions(parsing: list) }
        return settings
    }
}
