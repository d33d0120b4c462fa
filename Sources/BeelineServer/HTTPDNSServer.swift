// SPDX-License-Identifier: Apache-2.0

public import HTTPDNS
import NIOConcurrencyHelpers
public import Names

/// An HTTPDNS server: one resolver, asked in the forms of RFC 8484, DNS in JSON, DNSPod and Aliyun.
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
/// | `/d?dn=…` | DNSPod, in the clear, with a token, or under AES |
/// | `/{account}/d`, `/sign_d`, `/resolve`, `/sign_resolve` | Aliyun, version 1 |
/// | `/v2/d` | Aliyun, version 2, signed, encrypted or neither |
/// | `/{account}/ss` | Aliyun's scheduling: where the service is, and whether it is on |
/// | `/metrics`, `/health` | Prometheus' text form; `ok`, or 503 while it stops |
///
/// It keeps nothing beside the resolver's cache, so any number may stand behind a load balancer.
public final class HTTPDNSServer: Sendable {
    private let configuration: ServerConfiguration
    private let zones: ZoneFiles
    private let service: ServerService
    private let listener: ServerListener

    /// A server that answers from a resolver, which stays its caller's: it is neither run nor shut down here.
    ///
    /// - Throws: ``ServerError`` where a zone file or the certificate cannot be used.
    public init(_ configuration: ServerConfiguration, resolver: Resolver) throws(ServerError) {
        self.configuration = configuration
        zones = try ZoneFiles(configuration.zones)
        service = ServerService(configuration, resolver, zones)
        listener = try ServerListener(configuration, service)
    }

    /// Begins to listen.
    ///
    /// - Returns: Where; the port is the system's choice where the configuration has 0.
    /// - Throws: ``ServerError`` with code `cannotListen`.
    public func start() async throws(ServerError) -> Endpoint { try await listener.start() }

    /// Looks for changed zone files until its task is cancelled, then stops the server as ``stop()`` does.
    public func run() async {
        let clock = ContinuousClock()
        while (try? await clock.sleep(for: configuration.zoneInterval)) != nil {
            for error in zones.reload().failures {
                service.noteReloadFailure()
                configuration.reloadFailed?(error)
            }
        }
        await stop()
    }

    /// Reads zones, certificate and key again, and takes new accounts where they are given. What is wrong changes nothing:
    /// the server goes on with what it had.
    ///
    /// - Parameter accounts: The accounts from now on; nil: those that it has.
    /// - Throws: ``ServerError`` of the first thing that is wrong.
    public func reload(accounts: [ServerAccount]? = nil) throws(ServerError) {
        do throws(ServerError) {
            // All of it is read before any of it is used.
            let (readings, tls) = (try zones.read(), try listener.read())
            zones.use(readings)
            listener.use(tls)
        } catch {
            service.noteReloadFailure()
            throw error
        }
        if let accounts { service.use(accounts) }
    }

    /// Stops: no connection is accepted any more, `/health` says 503, answers under way are finished, then connections are
    /// closed.
    public func stop() async { await listener.stop() }
}
