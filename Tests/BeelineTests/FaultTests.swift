// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineTesting
import NIOCore
import Testing

/// Runs each fault of the fault server through the engine and through the client. Each must end with the right code and
/// in time, the next request must work, and no socket may stay open. `DirectHTTPTests` has the faults of WebSockets.
@Suite("Faulty servers end in a defined error, in time, and leave a usable pool", .serialized, .timeLimit(.minutes(2)))
struct FaultTests {
    enum Through: String, CaseIterable, Sendable {
        case engine, client
    }

    struct Group: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let faults: [Fault]
    }

    static let groups: [Group] = [
        Group(testDescription: "connection", faults: Fault.connection),
        Group(testDescription: "TLS", faults: Fault.tls),
        Group(testDescription: "HTTP/1.1", faults: Fault.http1),
        Group(testDescription: "framing of HTTP/1.1", faults: Fault.http1Framing),
        Group(testDescription: "content of HTTP/1.1", faults: Fault.http1Content),
        Group(testDescription: "HTTP/2", faults: Fault.http2),
        Group(testDescription: "floods of HTTP/2", faults: Fault.http2Floods),
    ]

    @Test("each fault ends with its error code", arguments: groups, Through.allCases)
    func faults(group: Group, through: Through) async throws {
        let lab = try await FaultLab(group.faults)
        await withTaskGroup(of: Void.self) { tasks in
            for fault in group.faults {
                tasks.addTask {
                    do {
                        let seen = try await lab.ask(fault, through)
                        #expect(
                            Self.codes(fault, through).contains(seen),
                            "\(fault.id) (\(fault.does)) ended with \(seen ?? "success") through the \(through)"
                        )
                        #expect(try await lab.good(through) == "good", "after \(fault.id)")
                    } catch {
                        Issue.record("\(fault.id): \(error)")
                    }
                }
            }
        }
        lab.engine.closeIdle()
        lab.client.closeIdle()
        try await eventually("every connection to close", within: .seconds(10)) { lab.server.openConnections == 0 }
        // A black hole consists of sockets that connect to it.
        let endpoints = try group.faults.filter { $0.id != "black-hole" }.map { try lab.server.endpoint(of: $0.id) }
        try await eventually("every socket to close", within: .seconds(10)) {
            OpenDescriptors.sockets(connectedTo: endpoints) == 0
        }
        await lab.stop()
        #expect(lab.engine.openConnections == 0)
    }

    /// The codes that a fault may end with; nil is success.
    private static func codes(_ fault: Fault, _ through: Through) -> Set<String?> {
        if through == .engine, fault.id.hasPrefix("redirect-") { return [nil] }
        if let own = exceptions[fault.id] { return own }
        return switch fault.outcome {
        case .success, .status: [nil]
        case .refused: ["connectFailed"]
        case .connectTimeout, .handshakeTimeout: ["connectTimeout"]
        case .handshakeFailure: ["tlsFailed"]
        case .badCertificate: ["certificateRejected"]
        case .timeout: ["idleTimeout", "deadlineExceeded"]
        case .closed: ["connectionLost"]
        case .truncated: ["connectionLost", "streamReset"]
        case .malformed: ["malformedResponse", "unsupportedVersion"]
        case .limit: ["responseTooLarge", "malformedResponse"]
        case .refusedStream, .streamReset: ["streamReset"]
        }
    }

    /// Faults with several valid outcomes, or whose outcome depends on the client.
    private static let exceptions: [String: Set<String?>] = [
        // A reset may arrive before the kernel reports the connection.
        "accept-reset": ["connectionLost", "connectFailed"],
        "accept-close": ["connectionLost", "connectFailed"],
        // In TLS 1.3 the server rejects the certificate after the handshake.
        "tls-client-certificate": ["connectionLost", "tlsFailed"],
        "header-folded": [nil, "malformedResponse"],
        // The transfer coding takes precedence, and the connection is not reused.
        "length-and-chunked": [nil],
        // The body ends with the connection.
        "encoding-unknown": [nil],
        // A transfer coding that the request did not allow.
        "coding-unknown": ["undecodableBody"],
        "gzip-lie": ["undecodableBody"], "gzip-cut": ["undecodableBody"],
        "redirect-loop": ["tooManyRedirects"], "redirect-injection": ["tooManyRedirects"],
        "redirect-file": ["unsupportedScheme"], "redirect-script": ["unsupportedScheme"],
        "redirect-invalid": ["malformedURL"],
        // The server never allows a stream, so the request waits until a limit.
        "h2-no-stream": ["poolExhausted", "idleTimeout", "deadlineExceeded"],
        "h2-goaway-unprocessed": ["connectionLost", "streamReset"],
        // Valid frames without content: the client waits for the response until its limits.
        "h2-reset-flood": ["streamReset"],
        "h2-settings-flood": flood, "h2-ping-flood": flood, "h2-empty-data-flood": flood, "h2-priority-flood": flood,
        "h2-window-flood": flood, "h2-interim-flood": flood, "h2-continuation-flood": flood,
        "h2-empty-continuation-flood": flood, "h2-hpack-bomb": flood,
    ]

    private static let flood: Set<String?> = [
        "responseTooLarge", "malformedResponse", "connectionLost", "idleTimeout", "deadlineExceeded",
    ]
}

/// A server for each fault, a good server, and an engine and a client that use them.
struct FaultLab: Sendable {
    let server: FaultServer
    let origin: LoopbackOrigin
    let engine = Engine()
    let client: BeelineClient
    let tls: TLSSettings

    init(_ faults: [Fault]) async throws {
        let authority = try TestAuthority()
        server = try await FaultServer.start(faults, authority: authority)
        var goodTLS = ServerTLS(try authority.certificate(for: "good.test"))
        goodTLS.applicationProtocols = ["h2", "http/1.1"]
        origin = try await LoopbackOrigin.start(tls: goodTLS) { _ in .text("good") }
        var tls = TLSSettings()
        tls.trustsSystemRoots = false
        tls.rootPEMs = [authority.rootPEM]
        self.tls = tls
        var configuration = ClientConfiguration()
        let loopback = IPAddress(v4: 0x7f00_0001)
        configuration.pinned = [
            .init(try Host(FaultServer.name)): [loopback], .init(try Host("good.test")): [loopback],
        ]
        configuration.tls = tls
        configuration.proxies = .none
        client = try BeelineClient(configuration)
    }

    /// Sends a request to a fault's server. Returns the code of the error; nil for a complete response.
    func ask(_ fault: Fault, _ through: FaultTests.Through) async throws -> String? {
        let endpoint = try server.endpoint(of: fault.id)
        let isSecure = fault.layer == .tls || fault.layer == .http2
        let url = try HTTPURL("\(isSecure ? "https" : "http")://\(FaultServer.name):\(endpoint.port)/")
        var limits = TimeLimits()
        switch fault.outcome {
        // Only a time limit ends these faults, so it can be short.
        case .handshakeTimeout, .connectTimeout: limits.connect = .milliseconds(700)
        case .timeout: limits.idle = .milliseconds(700)
        // The first reset ends the exchange, on a busy machine maybe later than a short limit.
        case .limit where fault.id == "h2-reset-flood": break
        case .limit where fault.layer == .http2: limits.total = .milliseconds(1400)
        default:
            break
        }
        let begin = ContinuousClock.now
        let code = try await code(of: url, at: endpoint, limits, through)
        // Far above the limits, for a busy machine, but finite.
        #expect(begin.duration(to: .now) < .seconds(30), "\(fault.id) kept its caller waiting")
        return code
    }

    private func code(
        of url: HTTPURL,
        at endpoint: Endpoint,
        _ limits: TimeLimits,
        _ through: FaultTests.Through
    ) async throws -> String? {
        do {
            switch through {
            case .engine:
                let request = try PreparedRequest(.get, url, fields: [.acceptEncoding: "gzip, deflate"])
                let response = try await engine.exchange(
                    request,
                    from: EndpointList([endpoint]),
                    tls: tls,
                    limits: limits
                )
                _ = try await response.body.collect(upTo: 1 << 20)
            case .client:
                var options = RequestOptions()
                options.limits = limits
                let response = try await client.get("\(url)", options: options)
                _ = try await response.collect(upTo: 1 << 20)
            }
            return nil
        } catch let error as DirectHTTPError {
            return error.code.description
        } catch let error as BeelineError {
            return error.code.description
        }
    }

    /// Sends a request to the good server.
    func good(_ through: FaultTests.Through) async throws -> String {
        let url = try HTTPURL("https://good.test:\(origin.port)/")
        switch through {
        case .engine:
            let response = try await engine.exchange(
                PreparedRequest(.get, url),
                from: EndpointList(origin.endpoints),
                tls: tls
            )
            return String(buffer: try await response.body.collect(upTo: 100))
        case .client:
            return try await client.get("\(url)").text()
        }
    }

    func stop() async {
        await engine.shutDown()
        await client.shutDown()
        await server.stop()
        await origin.stop()
    }
}
