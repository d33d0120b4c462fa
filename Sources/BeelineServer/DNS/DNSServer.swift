// SPDX-License-Identifier: Apache-2.0

public import HTTPDNS
import NIOConcurrencyHelpers
public import Names

/// A DNS server over UDP, TCP and TLS that answers from one resolver.
///
/// ```swift
/// var configuration = DNSServerConfiguration()
/// configuration.lists = ["blocked.hosts"]
/// let server = try DNSServer(configuration, resolver: resolver)
/// print(try await server.start().plain)
/// await server.run()  // until its task is cancelled
/// ```
///
/// Addresses come from the resolver, with its cache, checks and upstreams. Two kinds of questions go to the resolver's
/// upstreams that carry DNS messages (DoH, DoT and DNS): those for other records, and those of clients that validate
/// signatures.
public final class DNSServer: Sendable {
    private let configuration: DNSServerConfiguration
    private let zones: ZoneFiles
    private let lists: ListFiles
    private let backends: [NameBackend]
    private let service: DNSService
    let listeners: DNSListeners
    /// Checks the files while the server runs, because a file on a network disk may block for any time.
    private let work = BlockingWork(threads: 1, maxWaiting: 2)

    /// How often the files are checked for changes.
    private static let fileInterval = Duration.seconds(1)

    /// Makes a server. The caller owns the resolvers: the server neither runs them nor shuts them down.
    ///
    /// - Throws: ``ServerError`` if a zone file, a list or the certificate cannot be used.
    public init(_ configuration: DNSServerConfiguration, resolver: Resolver) throws(ServerError) {
        self.configuration = configuration
        zones = try ZoneFiles(configuration.zones)
        lists = try ListFiles(configuration.lists, blockedAnswer: configuration.blockedAnswer)
        var answerer = Answerer(resolver: resolver, zones: zones, privateNames: configuration.privateNames)
        // Domains with the same resolver share its cached answers and its query limit.
        var byResolver = [ObjectIdentifier(resolver): answerer.backend]
        for resolver in configuration.domains.allValues where byResolver[ObjectIdentifier(resolver)] == nil {
            byResolver[ObjectIdentifier(resolver)] = NameBackend(resolver)
        }
        answerer.domains = configuration.domains.mapValues { byResolver[ObjectIdentifier($0)] ?? NameBackend($0) }
        answerer.rules = lists.rules
        answerer.synthesizes = true
        backends = Array(byResolver.values)
        service = DNSService(configuration, answerer: answerer)
        listeners = try DNSListeners(configuration, service)
    }

    /// Starts to listen.
    ///
    /// - Returns: The endpoint of UDP and TCP, and the one of TLS. The system chooses the ports if the configuration has 0.
    /// - Throws: ``ServerError`` with code `cannotListen`.
    public func start() async throws(ServerError) -> (plain: Endpoint, tls: Endpoint?) { try await listeners.start() }

    /// Checks for changed files until its task is cancelled, then stops the server as ``stop()`` does.
    public func run() async {
        let clock = ContinuousClock()
        while (try? await clock.sleep(for: Self.fileInterval)) != nil {
            guard !zones.paths.isEmpty || !configuration.lists.isEmpty else { continue }
            // Fails only if the task is cancelled, which also ends the loop.
            let failures = try? await work.run { [self] in .success(reloadChanges()) }
            for error in failures ?? [] { configuration.onReloadFailure?(error) }
        }
        await stop()
    }

    /// Reads the files again that have changed.
    private func reloadChanges() -> [ServerError] {
        let (hasRead, failures) = zones.reload()
        let change = Result { () throws(ServerError) in try lists.reload() }
        guard case .success(let rules) = change else {
            if case .failure(let error) = change { return failures + [error] }
            return failures
        }
        if hasRead || rules != nil { service.use { if let rules { $0.rules = rules } } }
        return failures
    }

    /// Reads the zones, the lists, the certificate and the key again. If anything is invalid, the server keeps its state.
    ///
    /// - Throws: ``ServerError`` for the first invalid file.
    public func reload() throws(ServerError) {
        let (readings, list, tls) = (try zones.read(), try lists.read(), try listeners.read())
        zones.use(readings)
        lists.use(list)
        listeners.use(tls)
        service.use { $0.rules = list?.rules }
    }

    /// Stops the server: refuses new connections, finishes pending answers, then closes the sockets.
    public func stop() async {
        await listeners.stop()
        for backend in backends { backend.forwarder.close() }
    }
}
