// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import Names
import Testing

/// Checks each fault with a client that has no protocol logic.
@Suite(.timeLimit(.minutes(1))) struct FaultServerTests {
    let authority: TestAuthority

    init() throws {
        authority = try TestAuthority()
    }

    @Test func rowsHaveNamesOfTheirOwn() {
        #expect(Set(Fault.all.map(\.id)).count == Fault.all.count)
        #expect(Fault.all.allSatisfy { !$0.does.isEmpty && Fault.named($0.id)?.does == $0.does })
        #expect(Set(Fault.all.map(\.outcome)) == Set(Fault.Outcome.allCases))
    }

    @Test(arguments: Fault.all)
    func aFaultDoesWhatItSays(fault: Fault) async throws {
        let server = try await FaultServer.start([fault], authority: authority)
        let seen = await look(at: fault, try server.endpoint(of: fault.id))
        switch (fault.outcome, seen) {
        case (.refused, .failed(let error)): #expect(error.contains("refused"))
        case (.connectTimeout, .failed(let error)): #expect(error.contains("timeout"))
        case (.handshakeFailure, .failed), (.handshakeTimeout, .failed): break
        case (.badCertificate, .failed(let error)):
            #expect(error.contains("CERTIFICATE_VERIFY_FAILED") || error.contains("failedToValidateHostname"))
        // NIOSSL accepts a certificate for the address instead of the name. The client has to check this.
        case (.badCertificate, .silence): #expect(fault.id == "tls-address-only")
        case (.timeout, .silence): break
        // A reset may arrive before the client has connected.
        case (.closed, .failed(let error)): #expect(error.contains("reset"))
        case (.closed, .end(let text)): #expect(!text.contains("\r\n\r\n") || fault.layer != .http1)
        case (.truncated, .end(let text)): #expect(fault.layer == .http2 || text.contains("\r\n\r\n"))
        case (_, .enough): break
        default: Issue.record("\(fault.outcome), but seen was \(seen)")
        }
        try await eventually("the end of the connection", within: .seconds(5)) { server.openConnections == 0 }
        await server.stop()
    }

    @Test func oneAnswerOfSeveralAddressesHasAFaultOnEach() async throws {
        let server = try await FaultServer.start(
            at: [("127.0.0.2", "refused"), ("127.0.0.3", "accept-reset"), ("::1", "interim")],
            authority: authority
        )
        #expect(Set(server.endpoints.map(\.port)).count == 1)
        #expect(server.endpoints.map(\.address.description) == ["127.0.0.2", "127.0.0.3", "::1"])
        await #expect { try await RawConnection.connect(to: server.endpoints[0]) } throws: {
            "\($0)".contains("refused")
        }
        let good = try await RawConnection.connect(to: server.endpoints[2])
        try await good.send("GET / HTTP/1.1\r\n\r\n")
        _ = try await good.receive(until: "\r\n\r\nok")
        await good.close()
        await server.stop()
    }

    @Test func aDripGoesByTheServersClock() async throws {
        let clock = ManualClock()
        let fault = try #require(Fault.named("body-drip"))
        let server = try await FaultServer.start([fault], authority: authority, clock: clock)
        let client = try await RawConnection.connect(to: server.endpoints[0])
        try await client.send("GET / HTTP/1.1\r\n\r\n")
        _ = try await client.receive(until: "\r\n\r\n")
        for _ in 0..<3 {
            try await clock.sleepers(atLeast: 1)
            clock.advance(by: .seconds(1))
            #expect(try await client.receive() == Array("x".utf8))
        }
        await client.close()
        await server.stop()
    }

    private enum Seen {
        case failed(String)
        case silence
        case end(String)
        case enough
    }

    /// Whether the received bytes show the fault.
    private func suffices(_ bytes: [UInt8], for fault: Fault) -> Bool {
        // Endless faults are recognized by the number of bytes.
        let text = fault.outcome == .limit ? "" : String(decoding: bytes.prefix(65_536), as: UTF8.self)
        switch fault.outcome {
        case .success: return fault.id == "ws-fragments" ? text.hasSuffix("k") : text.contains("ok")
        case .status: return text.hasPrefix("HTTP/1.1 ") && !text.hasPrefix("HTTP/1.1 200") && text.contains("\r\n\r\n")
        case .malformed, .refusedStream, .streamReset: return !bytes.isEmpty
        case .limit:
            // These are endless only for a client that decodes or follows them.
            let isShort = ["deflate-bomb", "ws-huge", "redirect-loop", "redirect-injection"].contains(fault.id)
            return isShort ? !bytes.isEmpty : bytes.count > 2 << 20
        case .truncated where fault.layer == .http2: return text.contains("o")
        default: return false
        }
    }

    private func look(at fault: Fault, _ endpoint: Endpoint) async -> Seen {
        var tls: RawConnection.ClientTLS?
        if fault.layer == .tls || fault.layer == .http2 {
            tls = .init(FaultServer.name, trusting: authority)
            if fault.layer == .http2 { tls?.applicationProtocols = ["h2"] }
        }
        let hangs = fault.outcome == .connectTimeout || fault.outcome == .handshakeTimeout
        let connection: RawConnection
        do {
            connection = try await .connect(to: endpoint, tls: tls, within: hangs ? .milliseconds(50) : .seconds(10))
        } catch {
            return .failed("\(error)")
        }
        let seen = await talk(fault, connection)
        await connection.close()
        return seen
    }

    private func talk(_ fault: Fault, _ connection: RawConnection) async -> Seen {
        try? await connection.send(request(fault.layer))
        var bytes: [UInt8] = []
        // Only silence needs a wait.
        let limit: Duration =
            fault.outcome == .timeout || fault.outcome == .badCertificate ? .milliseconds(100) : .seconds(20)
        while !suffices(bytes, for: fault) {
            do {
                let more = try await withTimeLimit(limit, for: { "bytes" }, work: { try await connection.receive() })
                guard let more else { return .end(String(decoding: bytes.prefix(65_536), as: UTF8.self)) }
                bytes += more
            } catch let error as TestingError where error.code == .timedOut {
                return .silence
            } catch {
                return .end(String(decoding: bytes.prefix(65_536), as: UTF8.self))
            }
        }
        return .enough
    }

    private func request(_ layer: Fault.Layer) -> [UInt8] {
        switch layer {
        case .http2:
            let fields = [(":method", "GET"), (":scheme", "https"), (":path", "/"), (":authority", FaultServer.name)]
            let flags = RawFrame.endHeaders | RawFrame.endStream
            let headers = RawFrame.headers(fields, stream: 1, flags: flags)
            return RawFrame.preface + RawFrame(.settings).bytes + headers.bytes
        case .webSocket:
            return Array(
                ("GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                    + "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n").utf8
            )
        default:
            return Array("GET / HTTP/1.1\r\nHost: \(FaultServer.name)\r\n\r\n".utf8)
        }
    }
}
