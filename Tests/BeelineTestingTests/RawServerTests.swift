// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import Testing

@Suite(.timeLimit(.minutes(1))) struct RawServerTests {
    @Test func aResetIsSeenAsOne() async throws {
        let server = try await RawServer.start { connection in
            _ = try await connection.receiveRequest()
            await connection.reset()
        }
        let connection = try await RawConnection.connect(to: server.endpoint)
        try await connection.send("GET / HTTP/1.1\r\n\r\n")
        await #expect { _ = try await connection.receive() } throws: { "\($0)".contains("reset") }
        await connection.close()
        await server.stop()
    }

    @Test func aCutIsATruncationOverTLSAndAnEndWithoutIt() async throws {
        let authority = try TestAuthority()
        for tls in [nil, ServerTLS(try authority.certificate(for: "a.test"))] {
            let server = try await RawServer.start(tls: tls) { connection in
                try await connection.send("half")
                _ = try await connection.receive(count: 1)
                await connection.cut()
            }
            let clientTLS = tls.map { _ in RawConnection.ClientTLS("a.test", trusting: authority) }
            let connection = try await RawConnection.connect(to: server.endpoint, tls: clientTLS)
            #expect(try await connection.receive(count: 4) == Array("half".utf8))
            try await connection.send("x")
            if tls == nil {
                #expect(try await connection.receive() == nil)
            } else {
                await #expect { _ = try await connection.receive() } throws: { "\($0)".contains("uncleanShutdown") }
            }
            await connection.close()
            await server.stop()
        }
    }

    @Test func aClosedClientEndsTheClosure() async throws {
        let ended = Gate()
        let server = try await RawServer.start { connection in
            do { try await connection.hold() } catch { ended.open() }
        }
        let connection = try await RawConnection.connect(to: server.endpoint)
        try await server.connections { $0.open == 1 }
        await connection.close()
        try await withTimeLimit(.seconds(10), for: { "the end of the closure" }) { try await ended.wait() }
        try await server.connections { $0.open == 0 }
        await server.stop()
    }

    /// Once, data and the end of the connection were lost if they arrived before the client had added its first
    /// handler.
    @Test func aServerThatSpeaksFirstAndClosesAtOnceIsHeard() async throws {
        let server = try await RawServer.start { try await $0.send("first") }
        for _ in 0..<200 {
            let connection = try await RawConnection.connect(to: server.endpoint)
            #expect(try await connection.receive(count: 5) == Array("first".utf8))
            #expect(try await connection.receive() == nil)
            await connection.close()
        }
        await server.stop()
    }

    @Test func anEndlessAnswerIsBoundedAndEndsWithTheClient() async throws {
        let server = try await RawServer.start { try await $0.sendEndlessly("X", total: 200_000) }
        let patient = try await RawConnection.connect(to: server.endpoint)
        #expect((200_000..<300_000).contains(try await patient.drain()))
        await patient.close()
        let impatient = try await RawConnection.connect(to: server.endpoint)
        _ = try await impatient.receive(count: 10)
        await impatient.close()
        try await server.connections { $0.accepted == 2 && $0.open == 0 }
        await server.stop()
    }

    @Test func aHalfClosedClientIsStillAnswered() async throws {
        let server = try await RawServer.start(allowsHalfClosure: true) { connection in
            try await connection.send("\(try await connection.drain())")
        }
        let connection = try await RawConnection.connect(to: server.endpoint)
        try await connection.send("four")
        try await connection.finishSending()
        #expect(try await connection.receive() == Array("4".utf8))
        await connection.close()
        await server.stop()
    }

    @Test func aServerWithAMisfitPortSaysSo() async throws {
        let first = try await RawServer.start { try await $0.hold() }
        await #expect { _ = try await RawServer.start(port: first.port) { _ in } } throws: { error in
            (error as? TestingError)?.code == .noPort && "\(error)".contains("\(first.port)")
        }
        await first.stop()
    }
}
