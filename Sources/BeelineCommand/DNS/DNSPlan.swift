// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineServer

/// The validated configuration of the DNS server from the command line.
struct DNSPlan: Sendable {
    private(set) var configuration = DNSServerConfiguration()
    /// The client whose resolver answers.
    private(set) var client: ClientConfiguration
    /// The clients of other upstreams, each with its domains. A nil client stands for ``client``.
    private(set) var groups: [(domains: [String], client: ClientConfiguration?)] = []
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
        for path in arguments.dnsFile { try upstreams.add(file: try files.text(path), at: path) }
        var names = names
        names.dns += upstreams.others
        client = try Self.client(names, defaults: defaults, files: files)
        // The machine's resolver may ask this server. Without --dns it is asked for private names only.
        if names.dns.isEmpty, defaults.dns.isEmpty { client.upstreams.removeAll { $0 == .system } }
        accessLog = arguments.accessLog
        accessLogFormat = arguments.accessLogFormat
        for (specs, domains) in Dictionary(grouping: upstreams.domains, by: \.value) {
            var own = names
            own.dns = specs
            var client = specs.isEmpty ? nil : try Self.client(own, defaults: defaults, files: files)
            // The domain may be private. The user chose this upstream for it, so the name is sent there.
            client?.resolver.names.privateDomains = []
            groups.append((domains.map(\.key).sorted(), client))
        }
        configuration.listen = try Self.endpoint(arguments.listen, port: 53, option: "--listen")
        try setTLS(arguments)
        configuration.zones = arguments.zone
        configuration.lists = arguments.list + arguments.dnsFile
        configuration.privateNames = try ServePlan.privateNames(arguments.privateNames)
        configuration.proxyProtocol = try ServePlan.networks(arguments.proxyProtocol, of: "--proxy-protocol")
        configuration.passesSubnets = arguments.passSubnets
        switch arguments.blocked {
        case "nxdomain": configuration.blockedAnswer = .noSuchName
        case "zero": configuration.blockedAnswer = .unspecifiedAddress
        default: throw CommandFailure(.usage, "--blocked \"\(arguments.blocked)\": write nxdomain or zero")
        }
        guard arguments.rate >= 0, arguments.rate.isFinite else {
            throw CommandFailure(.usage, "--rate: write 0 or more")
        }
        configuration.questionsPerSecond = arguments.rate == 0 ? nil : arguments.rate
    }

    private static func client(
        _ names: NameOptions,
        defaults: Defaults,
        files: InputFiles
    ) throws(CommandFailure) -> ClientConfiguration {
        var client = try ClientConfiguration(names, defaults: defaults, files: files)
        client.resolver.cache.maxNames = 100_000
        client.resolver.cache.maxOctets = 64 << 20
        return client
    }

    private mutating func setTLS(_ arguments: DNSArguments) throws(CommandFailure) {
        switch (arguments.cert, arguments.key) {
        case (let certificate?, let key?):
            configuration.tls = .init(certificate: certificate, key: key)
            configuration.listenTLS = Endpoint(configuration.listen.address, port: 853)
        case (nil, nil):
            guard arguments.listenTls == nil else {
                throw CommandFailure(.usage, "--listen-tls needs --cert and --key")
            }
        default: throw CommandFailure(.usage, "--cert and --key go together: give both")
        }
        if let text = arguments.listenTls {
            configuration.listenTLS = try Self.endpoint(text, port: 853, option: "--listen-tls")
        }
    }

    private static func endpoint(_ text: String, port: UInt16, option: String) throws(CommandFailure) -> Endpoint {
        do {
            return try Endpoint(parsing: text, defaultPort: port)
        } catch {
            throw CommandFailure(.usage, "\(option): \(error.message)")
        }
    }

    /// Returns the configuration with resolvers for domains and an access log.
    func configuration(
        domains: DomainMap<Resolver>,
        log: (@Sendable (AccessRecord) -> Void)?
    ) -> DNSServerConfiguration {
        var configuration = configuration
        configuration.domains = domains
        configuration.accessLog = log
        configuration.onReloadFailure = { error in
            let state = error.code == .cannotListen ? "" : "the previous state stays in use: "
            Terminal.standardError.writeLine("beeline: \(state)\(error)".singleLine)
        }
        return configuration
    }
}
