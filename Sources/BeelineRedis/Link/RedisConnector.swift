// SPDX-License-Identifier: Apache-2.0

#if Redis
import HTTPDNS
import NIOConcurrencyHelpers
import Names

/// Opens connections to the server of a configuration: a given one, the one that Sentinels name, or the one that a
/// cluster redirects to. Its calls block, so they belong on a thread that may wait.
final class RedisConnector: Sendable {
    private struct State {
        var lookups: [String: RedisHostLookup] = [:]
        /// The server that the cluster redirected to last.
        var moved: RedisHost?
        var isEnded = false
    }

    /// The maximum number of names to remember, because a server may choose them.
    private static let maxLookups = 32

    private let configuration: RedisConfiguration
    private let lookUp: RedisHostLookup.LookUp
    private let security: RedisSecurity?
    private let state = NIOLockedValueBox(State())

    /// - Parameter lookUp: Looks up the server's name. May block for any time.
    init(
        _ configuration: RedisConfiguration,
        lookUp: @escaping RedisHostLookup.LookUp = { SystemUpstream.getAddresses(of: $0, families: .both) }
    ) {
        self.configuration = configuration
        self.lookUp = lookUp
        security = configuration.tls.map { RedisSecurity($0) }
    }

    /// The time limit of one exchange.
    var timeout: Duration { configuration.boundedTimeout }

    // MARK: Connecting

    /// Connects to the present server. Each attempt has the time limit of the configuration; the lookup of a name takes
    /// additional time.
    func connect() throws(RedisFault) -> RedisLink {
        if let moved = state.withLockedValue({ $0.moved }) {
            do throws(RedisFault) { return try open(moved) } catch {
                // The cluster may have changed again; ask the given server.
                state.withLockedValue { $0.moved = nil }
            }
        }
        guard let sentinel = configuration.sentinel else {
            return try open(RedisHost(configuration.host, port: configuration.port))
        }
        var fault = RedisFault(reason: "no Sentinel is given")
        for host in sentinel.hosts.prefix(RedisURL.maxHosts) {
            do throws(RedisFault) {
                return try open(try master(of: sentinel.service, from: host), isMaster: true)
            } catch {
                fault = RedisFault(reason: "Sentinel \(host): \(error.reason)")
            }
        }
        throw fault
    }

    /// Connects to the server of an earlier connection again. With Sentinels, connects to the present server.
    func reconnect(_ link: RedisLink) throws(RedisFault) -> RedisLink {
        guard configuration.sentinel == nil else { return try connect() }
        return try open(link.host, at: link.address, logsIn: true)
    }

    /// Connects to the first address of a host that accepts.
    ///
    /// - Parameters:
    ///   - logsIn: Whether to log in and select the database.
    ///   - isMaster: Whether the server must not be a replica. A server that has just failed over may still be one.
    ///   - patience: How long to wait for the lookup of the host's name, in seconds.
    func open(
        _ host: RedisHost,
        logsIn: Bool = true,
        isMaster: Bool = false,
        patience: Double = RedisHostLookup.maxPatience
    ) throws(RedisFault) -> RedisLink {
        let addresses = try lookup(of: host.name).addresses(within: patience)
        let end = ContinuousClock.now + configuration.boundedTimeout
        var fault = RedisFault(reason: "the name \(host.name) has no address")
        for address in addresses {
            do throws(RedisFault) {
                let link = try open(host, at: address, logsIn: logsIn)
                if isMaster { try check(link) }
                return link
            } catch {
                fault = error
            }
            guard ContinuousClock.now < end else { break }
        }
        throw fault
    }

    private func open(_ host: RedisHost, at address: IPAddress, logsIn: Bool) throws(RedisFault) -> RedisLink {
        try RedisLink(configuration, host, at: address, logsIn: logsIn, security: security)
    }

    private func lookup(of name: String) throws(RedisFault) -> RedisHostLookup {
        let lookup = state.withLockedValue { state -> RedisHostLookup? in
            guard !state.isEnded else { return nil }
            if let lookup = state.lookups[name] { return lookup }
            if state.lookups.count >= Self.maxLookups { state.lookups = [:] }
            let lookup = RedisHostLookup(name, lookUp)
            state.lookups[name] = lookup
            return lookup
        }
        guard let lookup else { throw RedisFault(reason: "the connection was closed") }
        return lookup
    }

    // MARK: Sentinel

    private func master(of service: String, from sentinel: RedisHost) throws(RedisFault) -> RedisHost {
        let link = try open(sentinel, logsIn: false)
        let command = ["SENTINEL", "get-master-addr-by-name", service].map { Array($0.utf8) }
        guard let reply = link.exchange([command], limits: .init(octets: 1_024, elements: 2))?.first else {
            throw RedisFault(reason: link.fault)
        }
        switch reply {
        case .nothing: throw RedisFault(reason: "it knows no service \(service)")
        case .refused(let reason): throw RedisFault(reason: reason)
        case .array(let values):
            guard values.count == 2, let name = values[0].text,
                let port = values[1].number.flatMap({ UInt16(exactly: $0) }),
                let host = RedisHost(checking: name, port: port)
            else { fallthrough }
            return host
        default: throw RedisFault(reason: "its reply is malformed")
        }
    }

    private func check(_ link: RedisLink) throws(RedisFault) {
        let reply = link.exchange([[Array("ROLE".utf8)]], limits: .init(octets: 65_536, elements: 4_096))?.first
        guard let reply else { throw RedisFault(reason: link.fault) }
        // The user may have no permission for ROLE. A replica then refuses the first write.
        if reply.elements?.first?.text == "slave" { throw RedisFault(reason: "\(link.host) is a replica") }
    }

    // MARK: Cluster

    /// Connects to another server of the cluster from now on.
    func move(to host: RedisHost) { state.withLockedValue { $0.moved = host } }

    /// Ends the waits for lookups. No connection can be opened afterwards.
    func end() {
        let lookups = state.withLockedValue { state in
            state.isEnded = true
            return state.lookups.values.map { $0 }
        }
        for lookup in lookups { lookup.end() }
    }
}
#endif
