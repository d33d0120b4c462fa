// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineTesting
import NIOCore
import Testing

/// Each row of the fault server, through the engine and through the client: it ends with the right code and in time, the next
/// request works, and no socket is left. The rows for WebSockets are in `DirectHTTPTests`.
@Suite("Faults: a code and a time for each, and a healthy pool after", .serialized, .timeLimit(.minutes(2)))
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

    @Test("each ends as it should", arguments: groups, Through.allCases)
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
        try await withTimeLimit(.seconds(10), { "every connection to close" }) {
            while lab.server.openConnections > 0 { await Task.yield() }
        }
        // A black hole is made of sockets that connect to it.
        let endpoints = try group.faults.filter { $0.id != "black-hole" }.map { try lab.server.endpoint(of: $0.id) }
        #expect(OpenDescriptors.sockets(connectedTo: endpoints) == 0, "no socket is left")
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
        case .malformed: ["malformedResponse"]
        case .limit: ["responseTooLarge", "malformedResponse"]
        case .refusedStream, .streamReset: ["streamReset"]
        }
    }

    /// Rows that leave a choice, or whose end is in another part of the client.
    private static let exceptions: [String: Set<String?>] = [
        // A reset may come while TCP is still being told of the connection.
        "accept-reset": ["connectionLost", "connectFailed"],
        "accept-close": ["connectionLost", "connectFailed"],
        // In TLS 1.3 the server's refusal comes after the handshake.
        "tls-client-certificate": ["connectionLost", "tlsFailed"],
        "header-folded": [nil, "malformedResponse"],
        // The chunks count, and the connection is not used again.
        "length-and-chunked": [nil],
        // The body is what is there until the end of the connection.
        "coding-unknown": [nil], "encoding-unknown": [nil],
        "gzip-lie": ["undecodableBody"], "gzip-cut": ["undecodableBody"],
        "redirect-loop": ["tooManyRedirects"], "redirect-injection": ["tooManyRedirects"],
        "redirect-file": ["unsupportedScheme"], "redirect-script": ["unsupportedScheme"],
        "redirect-invalid": ["malformedURL"],
        // No stream is ever allowed: there is no turn for the request.
        "h2-no-stream": ["poolExhausted", "idleTimeout", "deadlineExceeded"],
        "h2-goaway-unprocessed": ["connectionLost", "streamReset"],
        // Frames that are allowed and say nothing: the response is waited for as long as the limits say.
        "h2-reset-flood": ["streamReset"],
        "h2-settings-flood": flood, "h2-ping-flood": flood, "h2-empty-data-flood": flood, "h2-priority-flood": flood,
        "h2-window-flood": flood, "h2-interim-flood": flood, "h2-continuation-flood": flood,
        "h2-empty-continuation-flood": flood, "h2-hpack-bomb": flood,
    ]

    private static let flood: Set<String?> = [
        "responseTooLarge", "malformedResponse", "connectionLost", "idleTimeout", "deadlineExceeded",
    ]
}

/// Servers of faults beside a good one, and an engine and a client that meet them.
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

    /// Asks where a fault is. Returns the code that it ended with; nil for a response that came whole.
    func ask(_ fault: Fault, _ through: FaultTests.Through) async throws -> String? {
        let endpoint = try server.endpoint(of: fault.id)
        let isSecure = fault.layer == .tls || fault.layer == .http2
        let url = try HTTPURL("\(isSecure ? "https" : "http")://\(FaultServer.name):\(endpoint.port)/")
        var limits = TimeLimits()
        switch fault.outcome {
        // These end by a limit and by nothing else, so that it may be short.
        case .handshakeTimeout, .connectTimeout: limits.connect = .milliseconds(700)
        case .timeout: limits.idle = .milliseconds(700)
        case .limit where fault.layer == .http2: limits.whole = .milliseconds(1400)
        default:
            break
        }
        let begin = ContinuousClock.now
        let code = try await code(of: url, at: endpoint, limits, through)
        // Far above the limits, for a machine that is busy; far below for ever.
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

    /// A request to the good server.
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
