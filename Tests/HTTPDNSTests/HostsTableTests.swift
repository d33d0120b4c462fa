// SPDX-License-Identifier: Apache-2.0

import HTTPDNS
import Testing

@Suite("Hosts tables (hosts(5))")
struct HostsTableTests {
    @Test(
        "each line of a hosts file is read or skipped as its row says",
        arguments: [
            ("192.0.2.1 www.example.com", "www.example.com", "192.0.2.1"),
            ("192.0.2.1\twww.example.com  alias # comment", "alias", "192.0.2.1"),
            ("# 192.0.2.1 www.example.com", "www.example.com", nil),
            ("192.0.2.1 WWW.Example.com.", "www.example.com", "192.0.2.1"),
            ("2001:db8::1 a\r\n192.0.2.1 a\r\n", "a", "2001:db8::1 192.0.2.1"),
            ("192.0.2.1 a\n192.0.2.1 a", "a", "192.0.2.1"),
            ("fe80::1%lo0 a", "a", "fe80::1"),
            ("192.0.2.1#a", "a", nil),
            ("not-an-address a", "a", nil),
            ("192.0.2.1", "192.0.2.1", nil),
            ("192.0.2.1 a/b c", "c", "192.0.2.1"),
            ("", "a", nil),
        ]
    )
    func parses(_ text: String, _ name: String, _ expected: String?) {
        #expect(HostsTable(parsing: text)[host(name)] == expected.map { addresses($0) })
    }

    @Test("a name in all lines of a long file has a limited number of addresses")
    func oneNameEverywhere() {
        let lines = (0..<3_000).map { "10.0.\($0 / 250).\($0 % 250) a" }
        let found = HostsTable(parsing: lines.joined(separator: "\n"))[host("a")]
        #expect(found?.count == HostsTable.maxAddresses && found?.first == address("10.0.0.0"))
    }

    @Test("a byte order mark does not hide the first line of a table or a list")
    func byteOrderMark() {
        #expect(HostsTable(parsing: "\u{feff}192.0.2.1 a")[host("a")] == addresses("192.0.2.1"))
        let lines = "\u{feff}local=/a/\r\n\nb".octetLines.map { String(decoding: $0, as: UTF8.self) }
        #expect(lines == ["local=/a/", "b"])
    }

    @Test("no octets make the reader trap, and each table is read again from its own text")
    func fuzz() {
        var fuzz = Fuzz(seed: 5)
        let seeds = ["192.0.2.1 www.example.com a\n::1 b # c\n", "\u{0}\r\n\t 10.0.0.1\tx"].map { Array($0.utf8) }
        for _ in 0..<Fuzz.rounds / 4 {
            let text = String(decoding: fuzz.mutate(seeds), as: UTF8.self)
            let table = HostsTable(parsing: text)
            #expect(HostsTable(parsing: text + "\n") == table)
        }
    }

    @Test("a fixed upstream answers only for the names in its table")
    func fixedUpstream() async throws {
        let upstream = FixedUpstream(HostsTable(parsing: "192.0.2.1 a"))
        let answer = try await upstream.answer(Question(host("a")))
        #expect(answer.v4 == .addresses(addresses("192.0.2.1"), ttl: .seconds(60)))
        #expect(answer.v6 == .absent(.noRecord, ttl: .seconds(60)))
        let error = await #expect(throws: UpstreamError.self) { try await upstream.answer(Question(host("b"))) }
        #expect(error?.code == .unsupported)
    }
}
