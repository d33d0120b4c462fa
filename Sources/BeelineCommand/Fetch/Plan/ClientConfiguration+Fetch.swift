// SPDX-License-Identifier: Apache-2.0

import Beeline

extension ClientConfiguration {
    /// Makes the client configuration for `fetch`.
    init(_ command: FetchArguments, defaults: Defaults, files: InputFiles) throws(CommandFailure) {
        try self.init(command.names, defaults: defaults, files: files)
        let connection = command.connection
        if connection.noHttpdns { isHTTPDNSEnabled = false }
        for text in connection.resolve { try pin(text, command.names.families) }
        // As in curl, options win. Here the file adds to the system's roots, as --cacert does.
        let variable = "CURL_CA_BUNDLE"
        if command.names.cacert.isEmpty, defaults.cacert.isEmpty, command.tls.values.rootFolders.isEmpty,
            !command.tls.values.insecure, let path = defaults.environment[variable], !path.isEmpty
        {
            try tls.trust(path, option: variable, files)
        }
        // As in curl, an empty value is none.
        tls.keyLogFile = defaults.environment["SSLKEYLOGFILE"].flatMap { $0.isEmpty ? nil : $0 }
        tls = try TLSSettings(command.tls.values, over: tls, files)
        switch command.message.version {
        case .negotiated: break
        case .http10, .http11: tls.offersHTTP2 = false
        case .http2PriorKnowledge: (tls.requiresHTTP2, engine.usesHTTP2PriorKnowledge) = (true, true)
        }
        try apply(command.socket)
        // curl's limits for the head of a response.
        (engine.maxHeadBytes, engine.maxHeadFields) = (300 << 10, 5_000)
        limits.connect =
            try Duration(seconds: connection.connectTimeout ?? defaults.connectTimeout, option: "--connect-timeout")
            ?? limits.connect
        // As in curl, `-m` limits the whole transfer. There is no idle limit, because a stream may pause for a long
        // time.
        limits.idle = nil
        limits.total = try Duration(seconds: command.transfer.maxTime ?? defaults.maxTime, option: "-m")
        decodesContent = command.request.compressed
    }

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
