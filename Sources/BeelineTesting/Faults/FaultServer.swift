// SPDX-License-Identifier: Apache-2.0

public import Names

/// Serves ``Fault``s, one port for each; or one port for several, on an address for each.
///
/// ```swift
/// let server = try await FaultServer.start(Fault.all, authority: authority)
/// let endpoint = try server.endpoint(of: "head-reset")
/// // … request http://fault.test/ at that endpoint …
/// await server.stop()
/// ```
///
/// To see a client move on from one address of an answer to the next:
///
/// ```swift
/// let server = try await FaultServer.start(
///     at: [("127.0.0.2", "black-hole"), ("127.0.0.3", "tls-no-alpn")],
///     authority: authority
/// )
/// // … a resolution of server.endpoints …
/// ```
public final class FaultServer: Sendable {
    /// The name that its certificates are for: clients ask for it, whatever they dial.
    public static let name = "www.fault.test"

    /// The endpoints in the order of the faults.
    public let endpoints: [Endpoint]
    private let rows: [String: Endpoint]
    private let parts: [Part]

    /// Starts a server for each fault.
    ///
    /// - Parameters:
    ///   - faults: the rows to serve.
    ///   - authority: who signs the good certificates; clients must trust it.
    ///   - address: a loopback address.
    ///   - clock: what faults that drip go by; a ``ManualClock`` lets a test release each drop.
    /// - Throws: ``TestingError`` with code `badAddress` or `noPort`.
    public static func start(
        _ faults: [Fault],
        authority: TestAuthority,
        address: String = "127.0.0.1",
        clock: any Clock<Duration> = ContinuousClock()
    ) async throws -> FaultServer {
        let certificates = try FaultCertificates(authority: authority)
        var parts: [Part] = []
        do {
            for fault in faults { parts.append(try await Part(fault, address, 0, certificates, clock)) }
        } catch {
            for part in parts { await part.stop() }
            throw error
        }
        return FaultServer(faults, parts)
    }

    /// Starts a server for each fault on an address of its own, all with the same port.
    ///
    /// - Parameters:
    ///   - places: loopback addresses, each with the ``Fault/id`` of what is wrong there.
    ///   - authority: who signs the good certificates.
    ///   - clock: what faults that drip go by.
    /// - Throws: ``TestingError`` with code `badAddress`, `noPort` or, for an unknown fault, `unscripted`.
    public static func start(
        at places: [(address: String, fault: String)],
        authority: TestAuthority,
        clock: any Clock<Duration> = ContinuousClock()
    ) async throws -> FaultServer {
        let certificates = try FaultCertificates(authority: authority)
        let faults = try places.map { try named($0.fault) }
        var last: any Error = TestingError(.noPort, "no place")
        // A port that is free on the first address may be taken on the second.
        for _ in 0..<16 {
            var parts: [Part] = []
            do {
                for (place, fault) in zip(places, faults) {
                    let port = parts.first?.endpoint.port ?? 0
                    parts.append(try await Part(fault, place.address, port, certificates, clock))
                }
                return FaultServer(faults, parts)
            } catch {
                last = error
                for part in parts { await part.stop() }
            }
        }
        throw last
    }

    private init(_ faults: [Fault], _ parts: [Part]) {
        self.parts = parts
        endpoints = parts.map(\.endpoint)
        rows = Dictionary(zip(faults.map(\.id), endpoints)) { first, _ in first }
    }

    /// Where a fault is.
    ///
    /// - Throws: ``TestingError`` with code `unscripted` for one that is not served.
    public func endpoint(of id: String) throws -> Endpoint {
        guard let endpoint = rows[id] else { throw TestingError(.unscripted, "no fault \"\(id)\" is served here") }
        return endpoint
    }

    /// The connections of all its servers that are open; a healthy client leaves none behind.
    public var openConnections: Int { parts.reduce(0) { $0 + ($1.server?.connections.open ?? 0) } }

    /// Closes all ports and connections, and returns when they are gone.
    public func stop() async {
        for part in parts { await part.stop() }
    }

    private static func named(_ id: String) throws -> Fault {
        guard let fault = Fault.named(id) else { throw TestingError(.unscripted, "there is no fault \"\(id)\"") }
        return fault
    }

    /// What serves one fault.
    private struct Part: Sendable {
        let endpoint: Endpoint
        var server: RawServer?
        private var dead: RefusedEndpoint?
        private var hole: BlackHole?

        init(
            _ fault: Fault,
            _ address: String,
            _ port: UInt16,
            _ certificates: FaultCertificates,
            _ clock: any Clock<Duration>
        ) async throws {
            switch fault.play {
            case .refuse:
                let dead = try RefusedEndpoint(address: address, port: port)
                self.dead = dead
                endpoint = dead.endpoint
            case .blackHole:
                let hole = try BlackHole(address: address, port: port)
                self.hole = hole
                endpoint = hole.endpoint
            case .serve(let tls, let serve):
                let context = Fault.Context { try await clock.sleep(for: $0) }
                let server = try await RawServer.start(
                    addresses: [address],
                    port: port,
                    tls: try tls?(certificates)
                ) { try await serve($0, context) }
                self.server = server
                endpoint = server.endpoint
            }
        }

        func stop() async {
            await server?.stop()
            dead?.close()
            hole?.close()
        }
    }
}
