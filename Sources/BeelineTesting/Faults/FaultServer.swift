// SPDX-License-Identifier: Apache-2.0

package import Names

/// Serves ``Fault``s, each on its own port, or all on the same port at different addresses.
///
/// ```swift
/// let server = try await FaultServer.start(Fault.all, authority: authority)
/// let endpoint = try server.endpoint(of: "head-reset")
/// // … request http://www.fault.test/ at that endpoint …
/// await server.stop()
/// ```
///
/// To test that a client tries the next address of an answer:
///
/// ```swift
/// let server = try await FaultServer.start(
///     at: [("127.0.0.2", "black-hole"), ("127.0.0.3", "tls-no-alpn")],
///     authority: authority
/// )
/// // … a resolution of server.endpoints …
/// ```
package final class FaultServer: Sendable {
    /// The name in the server's certificates. Clients must request it at every endpoint.
    package static let name = "www.fault.test"

    /// The endpoints in the order of the faults.
    package let endpoints: [Endpoint]
    private let rows: [String: Endpoint]
    private let parts: [Part]

    /// Starts a server for each fault, on its own port.
    ///
    /// - Parameters:
    ///   - faults: The faults to serve.
    ///   - authority: Signs the good certificates. Clients must trust it.
    ///   - clock: The clock of the faults that send slowly. With a ``ManualClock``, a test controls each step.
    /// - Throws: ``TestingError`` with code `badAddress` or `noPort`.
    package static func start(
        _ faults: [Fault],
        authority: TestAuthority,
        clock: any Clock<Duration> = ContinuousClock()
    ) async throws -> FaultServer {
        let certificates = try FaultCertificates(authority: authority)
        let places = faults.map { (address: "127.0.0.1", fault: $0) }
        return try await serve(places, onOnePort: false, certificates: certificates, clock: clock)
    }

    /// Starts a server for each fault, at its own address and all on the same port.
    ///
    /// - Parameters:
    ///   - places: The loopback addresses, each with the ``Fault/id`` to serve there.
    ///   - authority: Signs the good certificates. Clients must trust it.
    ///   - clock: The clock of the faults that send slowly.
    /// - Throws: ``TestingError`` with code `badAddress`, `noPort` or, for an unknown fault, `unscripted`.
    package static func start(
        at places: [(address: String, fault: String)],
        authority: TestAuthority,
        clock: any Clock<Duration> = ContinuousClock()
    ) async throws -> FaultServer {
        let certificates = try FaultCertificates(authority: authority)
        let places = try places.map { place in
            guard let fault = Fault.named(place.fault) else {
                throw TestingError(.unscripted, "unknown fault \"\(place.fault)\"")
            }
            return (address: place.address, fault: fault)
        }
        var last: any Error = TestingError(.noPort, "no place")
        // A port that is free on the first address may be in use on the second.
        for _ in 0..<16 {
            do {
                return try await serve(places, onOnePort: true, certificates: certificates, clock: clock)
            } catch {
                last = error
            }
        }
        throw last
    }

    private static func serve(
        _ places: [(address: String, fault: Fault)],
        onOnePort: Bool,
        certificates: FaultCertificates,
        clock: any Clock<Duration>
    ) async throws -> FaultServer {
        var parts: [Part] = []
        do {
            for (address, fault) in places {
                let port = onOnePort ? parts.first?.endpoint.port ?? 0 : 0
                parts.append(
                    try await Part(fault, address: address, port: port, certificates: certificates, clock: clock)
                )
            }
        } catch {
            for part in parts { await part.stop() }
            throw error
        }
        return FaultServer(places.map(\.fault), parts)
    }

    private init(_ faults: [Fault], _ parts: [Part]) {
        self.parts = parts
        endpoints = parts.map(\.endpoint)
        rows = Dictionary(zip(faults.map(\.id), endpoints)) { first, _ in first }
    }

    /// The endpoint of a fault.
    ///
    /// - Throws: ``TestingError`` with code `unscripted` if the fault is not served.
    package func endpoint(of id: String) throws -> Endpoint {
        guard let endpoint = rows[id] else { throw TestingError(.unscripted, "no fault \"\(id)\" is served here") }
        return endpoint
    }

    /// The number of open connections of all servers. It is 0 after a client closes its connections.
    package var openConnections: Int { parts.reduce(0) { $0 + ($1.server?.connections.open ?? 0) } }

    /// Closes all ports and connections, and returns when their work has ended.
    package func stop() async {
        for part in parts { await part.stop() }
    }

    /// The server of one fault.
    private struct Part: Sendable {
        let endpoint: Endpoint
        var server: RawServer?
        private var dead: RefusedEndpoint?
        private var hole: BlackHole?

        init(
            _ fault: Fault,
            address: String,
            port: UInt16,
            certificates: FaultCertificates,
            clock: any Clock<Duration>
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
                let server = try await RawServer.start(
                    addresses: [address],
                    port: port,
                    tls: try tls?(certificates)
                ) { try await serve($0, clock) }
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
