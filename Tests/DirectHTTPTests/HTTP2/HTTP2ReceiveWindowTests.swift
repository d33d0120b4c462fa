// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import HTTPTypes
import NIOConcurrencyHelpers
import NIOCore
import Names
import Testing

@testable import DirectHTTP
@testable import HTTPWire

@Suite("Windows for data that a peer sends", .timeLimit(.minutes(1)))
struct HTTP2ReceiveWindowTests {
    /// The credit of a window of 1,000 after each piece; nil is none.
    @Test(
        "a window opens by halves, grows while its reader keeps up, and starts anew when the reader falls behind",
        arguments: [
            ("half a window is taken before more is allowed", [(499, false, nil), (1, false, 1500)]),
            (
                "with one size, a download was no faster than that size in a round trip",
                [(1000, false, 2000), (2000, false, 4000), (4000, false, 4000), (4000, false, 4000)]
            ),
            (
                "a reader who falls behind has the first size again, less what is still under way",
                [(1000, false, 2000), (2000, false, 4000), (3000, true, nil), (0, false, nil), (500, false, 1500)]
            ),
        ] as [(String, [(bytes: Int, isStalled: Bool, credit: Int?)])]
    )
    func opens(_ rule: String, _ steps: [(bytes: Int, isStalled: Bool, credit: Int?)]) {
        var window = HTTP2ReceiveWindow(1000)
        for step in steps {
            let isAllowed = window.take(step.bytes)
            let credit = window.credit(isStalled: step.isStalled)
            #expect(isAllowed && credit == step.credit, "\(rule)")
        }
    }

    @Test("data beyond the window is refused and changes nothing")
    func exceeded() {
        var window = HTTP2ReceiveWindow(1000)
        let tooMuch = window.take(1001)
        let all = window.take(1000)
        let more = window.take(1)
        #expect(!tooMuch && all && !more)
    }

    @Test("a body continues after the server shrinks the stream's window while the connection's window is closed")
    func takenBack() async throws {
        let authority = try TestAuthority()
        var tls = ServerTLS(try authority.certificate(for: "a.test"))
        tls.applicationProtocols = ["h2"]
        let size = 100_000
        let received = NIOLockedValueBox(0)
        let server = try await RawServer.start(tls: tls) { connection in
            _ = try await connection.receive(count: RawFrame.preface.count)
            try await connection.send(RawFrame(.settings).bytes)
            guard let request = try await connection.receiveFrame(where: { $0.kind == .headers }) else { return }
            func take(_ count: Int) async throws {
                while received.withLockedValue({ $0 }) < count,
                    let data = try await connection.receiveFrame(where: { $0.kind == .data })
                {
                    received.withLockedValue { $0 += data.payload.count }
                }
            }
            // Both windows are used up. The stream's window opens and shrinks again before the connection's window
            // opens.
            try await take(HTTP2Frame.defaultWindow)
            try await connection.send(
                RawFrame(.windowUpdate, stream: request.stream, payload: RawFrame.big(1_000)).bytes
                    + RawFrame.settings([(4, 0)]).bytes
                    + RawFrame(.windowUpdate, payload: RawFrame.big(200_000)).bytes
                    + RawFrame(.ping, payload: [1, 2, 3, 4, 5, 6, 7, 8]).bytes
            )
            _ = try await connection.receiveFrame(where: { $0.kind == .ping })
            try await connection.send(
                RawFrame(.windowUpdate, stream: request.stream, payload: RawFrame.big(200_000)).bytes
            )
            try await take(size)
            try await connection.send(RawFrame.headers([(":status", "204")], stream: request.stream, flags: 5).bytes)
            while try await connection.receiveFrame() != nil {}
        }
        let engine = Engine()
        var trust = TLSSettings()
        trust.rootPEMs = [authority.rootPEM]
        let request = try PreparedRequest(
            .put,
            HTTPURL("https://a.test:\(server.port)/"),
            body: .bytes([UInt8](repeating: 1, count: size))
        )
        let response = try await engine.exchange(request, from: EndpointList(server.endpoints), tls: trust)
        #expect(response.head.status == .noContent && received.withLockedValue { $0 } == size)
        await engine.shutDown()
        await server.stop()
    }

    @Test("a large body arrives unchanged through a fast socket and large windows")
    func largeUpload() async throws {
        let authority = try TestAuthority()
        var tls = ServerTLS(try authority.certificate(for: "a.test"))
        tls.applicationProtocols = ["h2"]
        let body = (0..<500_000).map { UInt8(truncatingIfNeeded: $0 / 7 ^ $0 >> 11) }
        let isSame = NIOLockedValueBox(false)
        let server = try await RawServer.start(tls: tls) { connection in
            _ = try await connection.receive(count: RawFrame.preface.count)
            try await connection.send(
                RawFrame.settings([(4, 8_000_000)]).bytes
                    + RawFrame(.windowUpdate, payload: RawFrame.big(8_000_000)).bytes
            )
            guard let request = try await connection.receiveFrame(where: { $0.kind == .headers }) else { return }
            var received: [UInt8] = []
            while let data = try await connection.receiveFrame(where: { $0.kind == .data }) {
                received += data.payload
                if data.flags & RawFrame.endStream != 0 { break }
            }
            isSame.withLockedValue { [received] in $0 = received == body }
            try await connection.send(RawFrame.headers([(":status", "204")], stream: request.stream, flags: 5).bytes)
            while try await connection.receiveFrame() != nil {}
        }
        let engine = Engine()
        var trust = TLSSettings()
        trust.rootPEMs = [authority.rootPEM]
        let request = try PreparedRequest(.put, HTTPURL("https://a.test:\(server.port)/"), body: .bytes(body))
        let response = try await engine.exchange(request, from: EndpointList(server.endpoints), tls: trust)
        #expect(response.head.status == .noContent)
        #expect(isSame.withLockedValue { $0 })
        await engine.shutDown()
        await server.stop()
    }

    @Test("a server that fills each window gets larger ones, and its body arrives complete")
    func told() async throws {
        let authority = try TestAuthority()
        var tls = ServerTLS(try authority.certificate(for: "a.test"))
        tls.applicationProtocols = ["h2"]
        let largest = NIOLockedValueBox(0)
        let server = try await RawServer.start(tls: tls) { connection in
            _ = try await connection.receive(count: RawFrame.preface.count)
            try await connection.send(RawFrame(.settings).bytes)
            guard let request = try await connection.receiveFrame(where: { $0.kind == .headers }) else { return }
            try await connection.send(RawFrame.headers([(":status", "200")], stream: request.stream).bytes)
            let piece = [UInt8](repeating: 1, count: 16_384)
            var window = HTTP2Frame.defaultWindow
            for number in 1...64 {
                while window < piece.count {
                    let isUpdate = { (frame: RawFrame) in frame.kind == .windowUpdate && frame.stream == request.stream
                    }
                    guard let update = try await connection.receiveFrame(where: isUpdate) else { return }
                    window += update.payload.reduce(0) { $0 << 8 | Int($1) }
                    largest.withLockedValue { [window] in $0 = max($0, window) }
                }
                window -= piece.count
                let flags = number == 64 ? RawFrame.endStream : 0
                try await connection.send(RawFrame(.data, flags: flags, stream: request.stream, payload: piece).bytes)
            }
            while try await connection.receiveFrame() != nil {}
        }
        var configuration = EngineConfiguration()
        configuration.bufferedBodyBytes = HTTP2Frame.defaultWindow
        let engine = Engine(configuration: configuration)
        var trust = TLSSettings()
        trust.rootPEMs = [authority.rootPEM]
        let request = try PreparedRequest(.get, HTTPURL("https://a.test:\(server.port)/"))
        let response = try await engine.exchange(request, from: EndpointList(server.endpoints), tls: trust)
        var size = 0
        for try await piece in response.body { size += piece.readableBytes }
        #expect(size == 1 << 20)
        #expect(largest.withLockedValue { $0 } > HTTP2Frame.defaultWindow)
        await engine.shutDown()
        await server.stop()
    }
}
