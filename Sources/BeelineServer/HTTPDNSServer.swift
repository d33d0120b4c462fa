// SPDX-License-Identifier: Apache-2.0

public import HTTPDNS
import NIOConcurrencyHelpers
public import Names

/// An HTTPDNS server that answers from one resolver, in the forms of RFC 8484, DNS in JSON, DNSPod and Aliyun.
///
/// ```swift
/// var configuration = ServerConfiguration()
/// configuration.tls = .init(certificate: "server.pem", key: "server.key")
/// configuration.zones = ["corp.zone"]
/// let server = try HTTPDNSServer(configuration, resolver: resolver)
/// print(try await server.start())
/// await server.run()  // until its task is cancelled
/// ```
///
/// | path | form |
/// | --- | --- |
/// | `/dns-query` | DNS messages (RFC 8484), GET and POST; with `name=` DNS in JSON |
/// | `/resolve?name=…` | DNS in JSON |
/// | `/d?dn=…` | DNSPod, in cleartext, with a token, or with AES |
/// | `/{account}/d`, `/sign_d`, `/resolve`, `/sign_resolve` | Aliyun, version 1 |
/// | `/v2/d` | Aliyun, version 2, signed, encrypted or neither |
/// | `/{account}/ss` | Aliyun's scheduling: the endpoints of the service |
/// | `/metrics` | metrics for Prometheus |
/// | `/health` | whether the process works: `ok`, or 503 after it refuses new connections |
/// | `/ready` | whether to send clients here: `ok`, or 503 (see ``Readiness``) |
///
/// The server has no state besides the resolver's cache, so several can run behind a load balancer.
public final class HTTPDNSServer: Sendable {
    private let configuration: ServerConfiguration
    private let zones: ZoneFiles
    private let service: ServerService
    private let listener: ServerListener
    /// Checks the files while the server runs, because a file on a network disk may block for any time.
    private let work = BlockingWork(threads: 1, maxWaiting: 2)

    /// Makes a server that answers from a resolver. The caller owns the resolver: the server neither runs it nor shuts it down.
    ///
    /// - Throws: ``ServerError`` if a zone file or the certificate cannot be used.
    public init(_ configuration: ServerConfiguration, resolver: Resolver) throws(ServerError) {
        self.configuration = configuration
        zones = try ZoneFiles(configuration.zones)
        service = ServerService(configuration, resolver: resolver, zones: zones)
        listener = try ServerListener(configuration, service)
    }

    /// Starts to listen.
    ///
    /// - Returns: The endpoint. The system chooses the port if the configuration has port 0.
    /// - Throws: ``ServerError`` with code `cannotListen`.
    public func start() async throws(ServerError) -> Endpoint { try await listener.start() }

    /// Whether to send clients to this server, as `/ready` says.
    public var readiness: Readiness { service.readiness }

    /// Checks for changed zone files and for a changed certificate until its task is cancelled, then stops the server
    /// as ``stop()`` does. A new certificate is used for new connections. Call ``start()`` before: this method does not
    /// listen.
    public func run() async {
        let clock = ContinuousClock()
        while (try? await clock.sleep(for: configuration.zoneInterval)) != nil {
            guard !zones.paths.isEmpty || configuration.tls != nil else { continue }
            // Fails only if the task is cancelled, which also ends the loop.
            for error in (try? await work.run { [self] in .success(reloadChanges()) }) ?? [] {
                service.noteReloadFailure()
                configuration.onReloadFailure?(error)
            }
        }
        await stop()
    }

    /// Reads the files again that have changed.
    private func reloadChanges() -> [ServerError] {
        var failures = zones.reload().failures
        do throws(ServerError) { try listener.certificate.reload() } catch { failures.append(error) }
        return failures
    }

    /// Reads the zones, the certificate and the key again, and optionally replaces the accounts. If anything is invalid, the
    /// server keeps its current state.
    ///
    /// - Parameter accounts: The new accounts. Nil keeps the current ones.
    /// - Throws: ``ServerError`` for the first invalid item.
    public func reload(accounts: [ServerAccount]? = nil) throws(ServerError) {
        do throws(ServerError) {
            // Reads everything before applying anything.
            let (readings, tls) = (try zones.read(), try listener.certificate.read())
            zones.use(readings)
            listener.certificate.use(tls)
        } catch {
            service.noteReloadFailure()
            throw error
        }
        if let accounts { service.use(accounts) }
    }

    /// Counts a reload that failed before ``reload(accounts:)`` was called.
    package func noteReloadFailure() { service.noteReloadFailure() }

    /// Stops the server. `/ready` answers 503 for ``ServerConfiguration/drainDelay``. Then the server refuses new connections,
    /// answers `/health` with 503, finishes pending answers within ``ServerConfiguration/drainTime`` and closes the connections.
    public func stop() async {
        let wasReady = listener.retire()
        if wasReady, configuration.drainDelay > .zero { await sleepUncancelled(configuration.drainDelay) }
        await close()
    }

    /// Stops the server as ``stop()`` does, without ``ServerConfiguration/drainDelay``: no client knows it yet.
    package func close() async {
        await listener.stop()
        service.endQuestions()
    }
}
