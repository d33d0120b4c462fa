// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import DirectHTTP
import NIOSSL
import TLSInternals
import Testing

@Suite("ECH configuration lists")
struct ECHConfigListTests {
    /// A configuration with parts that can be replaced.
    static func configuration(
        version: UInt16 = 0xfe0d,
        kem: UInt16 = 0x20,
        key: [UInt8] = [UInt8](repeating: 9, count: 32),
        suites: [UInt8] = [0, 1, 0, 1],
        name: String = "cover.test",
        extensions: [UInt8] = []
    ) -> [UInt8] {
        func bytes(_ value: UInt16) -> [UInt8] { [UInt8(value >> 8), UInt8(value & 0xff)] }
        func vector(_ content: [UInt8]) -> [UInt8] { bytes(UInt16(content.count)) + content }
        let contents =
            [7] + bytes(kem) + vector(key) + vector(suites) + [64, UInt8(name.utf8.count)] + Array(name.utf8)
            + vector(extensions)
        return bytes(version) + vector(contents)
    }

    static func list(_ configurations: [UInt8]...) -> [UInt8] {
        let all = configurations.flatMap { $0 }
        return [UInt8(all.count >> 8), UInt8(all.count & 0xff)] + all
    }

    @Test("the first usable configuration counts, and others are passed over")
    func selection() throws {
        typealias Tests = ECHConfigListTests
        let others = [
            Tests.configuration(version: 0xfe0a, name: "old.test"), Tests.configuration(kem: 0x10, name: "p256.test"),
            Tests.configuration(suites: [0, 3, 0, 1], name: "sha512.test"), Tests.configuration(name: "192.0.2.1"),
            Tests.configuration(name: "a.0x7f"), Tests.configuration(name: "-a.test"),
            Tests.configuration(name: "a.test."),
            Tests.configuration(name: "must.test", extensions: [0x80, 1, 0, 0]),
        ]
        for other in others {
            let list = try ECHConfigList(Tests.list(other, Tests.configuration(), Tests.configuration(name: "b.test")))
            #expect(list.publicName == "cover.test")
            let error = #expect(throws: DirectHTTPError.self) { _ = try ECHConfigList(Tests.list(other)) }
            #expect(error?.code == .echFailed && error?.message.contains("no configuration") == true)
        }
        let optional = Tests.configuration(extensions: [0, 1, 0, 2, 5, 5])
        #expect(try ECHConfigList(Tests.list(optional)).publicName == "cover.test")
    }

    @Test("a malformed list is refused")
    func malformed() {
        typealias Tests = ECHConfigListTests
        let good = Tests.list(Tests.configuration())
        var bad: [[UInt8]] = [
            [], [0], [0, 0], good + [0], Tests.list(Tests.configuration(key: [])),
            Tests.list(Tests.configuration(key: [1, 2])), Tests.list(Tests.configuration(suites: [])),
            Tests.list(Tests.configuration(suites: [0, 1, 0])), Tests.list(Tests.configuration(name: "")),
            Tests.list(Tests.configuration(extensions: [0])),
            Tests.list(Tests.configuration(extensions: [0, 1, 0, 9])),
        ]
        bad += (0..<good.count).map { Array(good.prefix($0)) }
        for bytes in bad {
            let error = #expect(throws: DirectHTTPError.self) { _ = try ECHConfigList(bytes) }
            #expect(error?.code == .echFailed && error?.message.contains("malformed") == true)
        }
    }

    @Test("a list that BoringSSL made is read, and BoringSSL takes each mutation that is accepted")
    func fuzz() throws {
        let made = try #require(ECHServerKeys(id: 1, publicName: "cover.test")).configurations
        #expect(try ECHConfigList(made).publicName == "cover.test")
        let context = try NIOSSLContext(configuration: .makeClientConfiguration())
        let handler = try NIOSSLClientHandler(context: context, serverHostname: "a.test")
        let connection = try #require(ECHConnection(of: handler))
        var random = SeededRandom(seed: 34)
        for _ in 0..<FuzzRounds.count(ordinary: 2_000) {
            var bytes = made
            for _ in 0...Int.random(in: 0...3, using: &random) {
                let place = Int.random(in: bytes.indices, using: &random)
                switch Int.random(in: 0..<8, using: &random) {
                case 0: bytes.remove(at: place)
                case 1: bytes.insert(.random(in: 0...255, using: &random), at: place)
                default: bytes[place] = .random(in: 0...255, using: &random)
                }
            }
            guard let list = try? ECHConfigList(bytes) else { continue }
            #expect(list.bytes == bytes && !list.publicName.isEmpty && connection.offer(list.bytes))
        }
    }
}
