// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineServer

/// The validated configuration of the DNS server from the command line.
struct DNSPlan: Sendable {
    /// A client, and the settings that distinguish it from others.
    struct Source: Sendable {
        /// The settings that may differ between clients and between two readings of the files.
        struct Key: Hashable, Sendable {
            var specs: [String]
            /// Whether the client is for a domain, which may be private.
            var isForDomain: Bool
            var folder: String?
            var cacert: [String]
            var allowsLocalAnswers: Bool
        }

        var key: Key
        var client: ClientConfiguration
    }

    private(set) var configuration = DNSServerConfiguration()
    /// The source for names outside the domains of ``groups``.
    let main: Source
    /// The domains and their sources. Nil: the domains use ``main``, unlike the larger domains that contain them.
    private(set) var groups: [(domains: [String], source: Source?)] = []
    let accessLog: String?
    let accessLogFormat: AccessLogFormat

    init(
        _ arguments: DNSArguments,
        _ names: NameOptions,
        defaults: Defaults,
        files: InputFiles
    ) throws(CommandFailure) {
        var upstreams = DomainUpstreams()
        for text in arguments.dnsFor { try upstreams.add(option: text) }
        for path in arguments.dnsFile { try upstreams.add(file: try files.asciiText(path), at: path) }
        var names = names
        names.dns += upstreams.others
        main = try Self.source(names, isForDomain: false, defaults: defaults, files: files)
        for (specs, domains) in Dictionary(grouping: upstreams.domains, by: \.value) {
            var own = names
            own.dns = specs
            let source =
                specs.isEmpty ? nil : try Self.source(own, isForDomain: true, defaults: defaults, files: files)
            groups.append((domains.map(\.key).sorted(), source))
        }
        accessLog = arguments.operation.accessLog
        accessLogFormat = arguments.operation.accessLogFormat
        configuration.listen = try Self.endpoints(arguments.listen, port: 53, option: "--listen")
        configuration.listenMetrics = try arguments.metrics.map { text throws(CommandFailure) in
            try Endpoint(text, defaultPort: 9_153, option: "--metrics")
        }
        try setTLS(arguments)
        configuration.zones = arguments.files.zone
        configuration.listFiles = arguments.list + arguments.dnsFile
        configuration.privateNames = try ServerOptions.privateNames(arguments.privateNames)
        configuration.proxyProtocol = try ServerOptions.networks(arguments.proxyProtocol, of: "--proxy-protocol")
        configuration.passesSubnets = arguments.passSubnets
        switch arguments.blocked {
        case "nxdomain": configuration.blockedAnswer = .noSuchName
        case "zero": configuration.blockedAnswer = .unspecifiedAddress
        default: throw CommandFailure(.usage, "--blocked \"\(arguments.blocked)\": write nxdomain or zero")
        }
        let rate = try ServerOptions.rate(arguments.rate)
        configuration.questionsPerSecond = rate == 0 ? nil : rate
        configuration.drainDelay = try arguments.operation.checkedDrainDelay()
    }

    private static func source(
        _ names: NameOptions,
        isForDomain: Bool,
        defaults: Defaults,
        files: InputFiles
    ) throws(CommandFailure) -> Source {
        var client = try ClientConfiguration(names, defaults: defaults, files: files)
        client.resolver.enlargeCache()
        // The machine's resolver may ask this server, so asking that resolver could cause a loop.
        client.isHTTPDNSEnabled = true
        client.resolver.network.asksUpstreamsForNAT64 = true
        // Without --dns it is asked for private names only.
        if names.dns.isEmpty, defaults.dns.isEmpty { client.upstreams.removeAll { $0 == .system } }
        // The user has chosen the upstream of this domain, so it gets private names too, and those of Tor.
        if isForDomain {
            client.resolver.names.privateDomains = []
            client.resolver.names.asksForOnion = true
        }
        let key = Source.Key(
            specs: names.dns.isEmpty ? defaults.dns : names.dns,
            isForDomain: isForDomain,
            folder: names.dns.isEmpty ? defaults.dnsFolder : nil,
            cacert: names.cacert.isEmpty ? defaults.cacert : names.cacert,
            allowsLocalAnswers: defaults.allowsLocalAnswers
        )
        return Source(key: key, client: client)
    }

    private mutating func setTLS(_ arguments: DNSArguments) throws(CommandFailure) {
        configuration.tls = try arguments.files.tls()
        guard configuration.tls != nil else {
            guard arguments.listenTls.isEmpty else {
                throw CommandFailure(.usage, "--listen-tls needs --cert and --key")
            }
            return
        }
        configuration.listenTLS = try Self.endpoints(arguments.listenTls, port: 853, option: "--listen-tls")
        if configuration.listenTLS.isEmpty {
            // TLS has one endpoint for an address with several ports, and for the addresses that 0.0.0.0 or `::` includes.
            let endpoints = configuration.listen.map { Endpoint($0.address, port: 853) }
            let all = endpoints.filter(\.address.isUnspecified)
            // `::` includes 0.0.0.0 as well.
            for endpoint in all.filter({ $0.address.family == .v6 }) + all + endpoints
            where !configuration.listenTLS.contains(where: { Self.overlap($0, endpoint) }) {
                configuration.listenTLS.append(endpoint)
            }
        }
    }

    /// The maximum number of addresses of one option.
    private static let maxEndpoints = 64

    /// The endpoints of an option that may be repeated, which must not overlap.
    private static func endpoints(
        _ texts: [String],
        port: UInt16,
        option: String
    ) throws(CommandFailure) -> [Endpoint] {
        guard texts.count <= maxEndpoints else {
            throw CommandFailure(.usage, "\(option): at most \(maxEndpoints) addresses may be given")
        }
        var endpoints: [Endpoint] = []
        for text in texts {
            let endpoint = try Endpoint(text, defaultPort: port, option: option)
            if let other = endpoints.first(where: { overlap($0, endpoint) }) {
                throw CommandFailure(.usage, "\(option): \(other) and \(endpoint) overlap; leave one of them out")
            }
            endpoints.append(endpoint)
        }
        return endpoints
    }

    /// Whether two endpoints would receive the same questions. 0.0.0.0 includes all IPv4 addresses, and `::` all
    /// addresses.
    private static func overlap(_ one: Endpoint, _ other: Endpoint) -> Bool {
        guard one.port == other.port, one.port != 0 else { return false }
        if one.address == other.address { return true }
        return [(one.address, other.address), (other.address, one.address)].contains { all, address in
            all.isUnspecified && (all.family == .v6 || address.family == .v4)
        }
    }

    /// Returns the configuration with resolvers for domains and an access log.
    func configuration(
        domains: DomainMap<Resolver>,
        log: (@Sendable (AccessRecord) -> Void)?
    ) -> DNSServerConfiguration {
        var configuration = configuration
        configuration.resolversByDomain = domains
        configuration.accessLog = log
        configuration.onReloadFailure = { error in
            let state = error.code == .cannotListen ? "" : "the previous state stays in use: "
            Terminal.log("\(state)\(error)")
        }
        return configuration
    }
}
