// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import NIOCore
import Names
import Testing

@testable import DirectHTTP

@Suite("SOCKS5 handshake")
struct SOCKSHandshakeTests {
    static func handshake(_ host: String = "a.test", user: String? = nil) throws -> SOCKSHandshake {
        let origin = Origin(scheme: .https, host: try Host(host), port: 443)
        let proxy = Origin(scheme: .http, host: try Host("192.0.2.1"), port: 1080)
        return try SOCKSHandshake(
            to: origin,
            by: Proxy(.socks5, origin: proxy, user: user, password: user.map { _ in "pw" })
        )
    }

    @Test("names are sent as names, and addresses as addresses")
    func requests() throws {
        let rows: [(String, [UInt8])] = [
            ("a.test", [3, 6] + Array("a.test".utf8)), ("192.0.2.1", [1, 192, 0, 2, 1]),
            ("[2001:db8::1]", [4, 0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]),
        ]
        for (host, target) in rows {
            var handshake = try Self.handshake(host)
            #expect(Array(buffer: handshake.begin()) == [5, 1, 0])
            #expect(try handshake.answer(to: [5, 0]) == [5, 1, 0] + target + [1, 187])
        }
    }

    @Test("a name of 255 octets is sent, and a longer one is refused")
    func longNames() throws {
        let longest = String(repeating: "a", count: 255)
        var handshake = try Self.handshake(longest)
        #expect(try handshake.answer(to: [5, 0]) == [5, 1, 0, 3, 255] + Array(longest.utf8) + [1, 187])
        let error = #expect(throws: DirectHTTPError.self) { try Self.handshake(longest + "a") }
        #expect(error?.code == .proxyRefused)
    }

    @Test("user and password are sent only when the proxy asks for them")
    func authentication() throws {
        var handshake = try Self.handshake(user: "me")
        #expect(Array(buffer: handshake.begin()) == [5, 2, 0, 2])
        #expect(try handshake.answer(to: [5]) == nil)
        #expect(try handshake.answer(to: [2]) == [1, 2] + Array("me".utf8) + [2] + Array("pw".utf8))
        #expect(try handshake.answer(to: [1, 0])?.first == 5, "a request follows the authentication")
    }

    @Test("a reply is parsed however it is split, and bytes after it are refused")
    func pieces() throws {
        for bound in [[1, 0, 0, 0, 0], [3, 1, 65], [4] + [UInt8](repeating: 0, count: 16)] as [[UInt8]] {
            let reply = [5, 0, 0] + bound + [0, 0]
            var handshake = try Self.handshake()
            _ = try handshake.answer(to: [5, 0])
            for byte in reply.dropLast() { #expect(try handshake.answer(to: [byte]) == nil) }
            var other = handshake
            #expect(try handshake.answer(to: [0]) == [])
            #expect(throws: DirectHTTPError.self) { try other.answer(to: [0, 7, 8]) }
        }
    }

    @Test(
        "a refusal and a reply that is not SOCKS5 are errors",
        arguments: [
            ([[4, 0]], "SOCKS5"), ([Array("HTTP/1.1 400".utf8)], "SOCKS5"), ([[5, 0xff]], "password"),
            ([[5, 2]], "password"), ([[5, 0], [5, 2]], "allow"), ([[5, 0], [5, 4]], "host"),
            ([[5, 0], [5, 99]], "99"), ([[5, 0], [5, 0, 0, 9, 0]], "address"), ([[5, 0], [0]], "SOCKS5"),
        ] as [([[UInt8]], String)]
    )
    func errors(pieces: [[UInt8]], says: String) throws {
        var handshake = try Self.handshake()
        let error = #expect(throws: DirectHTTPError.self) {
            for piece in pieces { _ = try handshake.answer(to: piece) }
        }
        #expect(error?.code == .proxyRefused)
        #expect(error?.message.contains(says) == true)
    }

    @Test("bytes of any kind give an error, a wait or a tunnel, and never trap")
    func fuzz() throws {
        var random = SeededRandom(seed: 1928)
        let seeds: [[UInt8]] = [[5, 0, 5, 0, 0, 1, 1, 2, 3, 4, 0, 80], [5, 2, 1, 0, 5, 0, 0, 3, 2, 65, 66, 0, 80]]
        for _ in 0..<FuzzRounds.count(ordinary: 20_000) {
            var handshake = try Self.handshake(user: Bool.random(using: &random) ? "me" : nil)
            var bytes = seeds[Int.random(in: 0..<2, using: &random)]
            for _ in 0..<Int.random(in: 0...3, using: &random) {
                bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            var rest = bytes[...]
            while !rest.isEmpty {
                let piece = rest.prefix(Int.random(in: 1...4, using: &random))
                rest = rest.dropFirst(piece.count)
                guard (try? handshake.receive(ByteBuffer(bytes: piece))) != nil else { break }
            }
        }
    }
}

extension SOCKSHandshake {
    /// The bytes to send after received bytes; nil to wait for more, and none if the tunnel is open.
    fileprivate mutating func answer(to bytes: [UInt8]) throws -> [UInt8]? {
        switch try receive(ByteBuffer(bytes: bytes)) {
        case .send(let answer): Array(buffer: answer)
        case .wait, .waitAtMost: nil
        case .done: []
        }
    }
}
