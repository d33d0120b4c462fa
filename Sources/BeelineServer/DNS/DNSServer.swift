// SPDX-License-Identifier: Apache-2.0

public import HTTPDNS
import NIOConcurrencyHelpers
public import Names

/// A DNS server over UDP, TCP and TLS that answers from one resolver.
///
/// ```swift
/// var configuration = DNSServerConfiguration()
/// configuration.listFiles = ["blocked.hosts"]
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
    private let backends: NIOLockedValueBox<BackendTable>
    private let service: DNSService
    let listeners: DNSListeners
    /// Nil without ``DNSServerConfiguration/listenMetrics``.
    private let reports: ServerListener?
    /// Checks the files while the server runs, because a file on a network disk may block for any time.
    private let work = BlockingWork(threads: 1, maxWaiting: 2)

    /// How often the files are checked for changes.
    private static let fileInterval = Duration.seconds(1)

    /// Makes a server. The caller owns the resolvers: the server neither runs them nor shuts them down.
    ///
    /// - Throws: ``ServerError`` if a zone file, a list or the certificate cannot be used.
    public init(_ configuration: DNSServerConfiguration, resolver: Resolver) throws(ServerError) {
        self.configuration = configuration
        let zones = try ZoneFiles(configuration.zones)
        let lists = try ListFiles(configuration.listFiles, blockedAnswer: configuration.blockedAnswer)
        let table = BackendTable(resolver, domains: configuration.resolversByDomain)
        let answerer = Answerer(
            backend: table.main,
            zones: zones,
            domains: table.domains,
            rules: lists.rules,
            privateNames: configuration.privateNames,
            synthesizes: true
        )
        let service = DNSService(configuration, answerer: answerer)
        let backends = NIOLockedValueBox(table)
        (self.zones, self.lists, self.backends, self.service) = (zones, lists, backends, service)
        listeners = try DNSListeners(configuration, service)
        reports = try configuration.listenMetrics.map { endpoint throws(ServerError) in
            let source = ServerService.Source(
                canAnswer: { zones.set.count > 0 || backends.withLockedValue { $0.main }.resolver.canAsk },
                probe: { backends.withLockedValue { $0.main }.resolver.probe() },
                isStopping: { service.isDraining },
                report: { _, _ in
                    service.report(LookupReport(backends.withLockedValue { $0.all }, zones: zones, lists: lists))
                }
            )
            return try ServerListener.reports(source, at: endpoint)
        }
    }

    /// Starts to listen.
    ///
    /// - Returns: The endpoints of UDP and TCP, those of TLS, and that of `/metrics`. The system chooses the ports if
    ///   the configuration has 0.
    /// - Throws: ``ServerError`` with code `cannotListen`.
    public func start() async throws(ServerError) -> (plain: [Endpoint], tls: [Endpoint], metrics: Endpoint?) {
        let endpoints = try await listeners.start()
        do throws(ServerError) {
            return (endpoints.plain, endpoints.tls, try await reports?.start())
        } catch {
            await close()
            throw error
        }
    }

    /// Checks for changed files until its task is cancelled, then stops the server as ``stop()`` does. Call ``start()`` before:
    /// this method does not listen.
    public func run() async {
        let clock = ContinuousClock()
        while (try? await clock.sleep(for: Self.fileInterval)) != nil {
            guard !zones.paths.isEmpty || !configuration.listFiles.isEmpty || configuration.tls != nil else { continue }
            // Fails only if the task is cancelled, which also ends the loop.
            let failures = (try? await work.run { [self] in .success(reloadChanges()) }) ?? []
            guard !failures.isEmpty else { continue }
            service.noteReloadFailures(failures.count)
            for error in failures { configuration.onReloadFailure?(error) }
        }
        await stop()
    }

    /// Reads the files again that have changed.
    func reloadChanges() -> [ServerError] {
        var (hasRead, failures) = zones.reload()
        do throws(ServerError) { try listeners.certificate.reload() } catch { failures.append(error) }
        do throws(ServerError) {
            if try lists.reload() { hasRead = true }
        } catch {
            failures.append(error)
        }
        // Read `lists.rules` in the closure, because `reload` may have read newer rules meanwhile.
        if hasRead { service.use { [lists] in $0.rules = lists.rules } }
        return failures
    }

    /// Reads the zones, the lists, the certificate and the key again, and optionally replaces the resolvers. If
    /// anything is invalid, the server keeps its state.
    ///
    /// Waiting questions keep their resolver until they are answered, which takes at most its
    /// `ResolverConfiguration.Limits.total`. A resolver that stays in use keeps its answers.
    ///
    /// - Parameters:
    ///   - resolver: The new resolver for names outside all domains. Nil keeps the current one.
    ///   - resolversByDomain: The new resolvers of domains. Nil keeps the current ones.
    /// - Throws: ``ServerError`` for the first invalid file.
    public func reload(
        resolver: Resolver? = nil,
        resolversByDomain: DomainMap<Resolver>? = nil
    ) throws(ServerError) {
        do throws(ServerError) {
            // Reads everything before applying anything.
            let (readings, list, tls) = (try zones.read(), try lists.read(), try listeners.certificate.read())
            zones.use(readings)
            lists.use(list)
            listeners.certificate.use(tls)
        } catch {
            service.noteReloadFailures()
            throw error
        }
        let table = backends.withLockedValue { table in
            table = table.with(resolver, domains: resolversByDomain)
            return table
        }
        service.use { [lists] answerer in
            answerer.rules = lists.rules
            (answerer.backend, answerer.domains) = (table.main, table.domains)
        }
    }

    /// Counts a reload that failed before ``reload(resolver:resolversByDomain:)`` was called.
    package func noteReloadFailure() { service.noteReloadFailures() }

    /// Stops the server. `/ready` answers 503 for ``DNSServerConfiguration/drainDelay``. Then the server refuses new
    /// connections, finishes pending answers within ``DNSServerConfiguration/drainTime`` and closes the sockets.
    /// `/health` answers 503 meanwhile, and the endpoint for metrics is closed last.
    public func stop() async {
        let wasReady = reports?.retire() ?? listeners.isListening
        if wasReady, configuration.drainDelay > .zero { await sleepUncancelled(configuration.drainDelay) }
        await close()
    }

    /// Stops the server as ``stop()`` does, without ``DNSServerConfiguration/drainDelay``: no client knows it yet.
    package func close() async {
        await listeners.stop()
        for backend in backends.withLockedValue({ $0.all }) { backend.forwarder.close() }
        await reports?.stop()
    }
}
