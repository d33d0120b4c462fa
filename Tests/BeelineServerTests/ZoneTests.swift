// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import Foundation
import HTTPDNS
import Names
import Testing

@testable import BeelineServer

@Suite("Zone files")
struct ZoneTests {
    private static func set(_ text: String = ServerLab.zone) throws -> ZoneSet {
        ZoneSet([AuthoritativeZone(try ZoneFile(parsing: Array(text.utf8)))])
    }

    private static func name(_ text: String) throws -> DNSName { try #require(DNSName(text)) }

    @Test(
        "a zone answers each question as its row says",
        arguments: [
            ("a name's address", "www.corp.test", DNSType.a, "NOERROR 192.0.2.10/300"),
            ("whatever its case", "WWW.Corp.TEST", .a, "NOERROR 192.0.2.10/300"),
            ("a repeated owner", "www.corp.test", .aaaa, "NOERROR 2001:db8::10/3600"),
            ("an alias and its target", "alias.corp.test", .a, "NOERROR www.corp.test/60 192.0.2.10/300"),
            ("an alias out of the zone", "away.corp.test", .a, "NOERROR www.a.test/60 → www.a.test"),
            ("the alias itself", "alias.corp.test", .cname, "NOERROR www.corp.test/60"),
            ("a wildcard", "any.thing.wild.corp.test", .a, "NOERROR 192.0.2.77/3600"),
            ("no record of the type", "www.corp.test", DNSType(rawValue: 15), "NOERROR soa"),
            ("a name between names", "deep.corp.test", .a, "NOERROR soa"),
            ("no such name", "nobody.corp.test", .a, "NXDOMAIN soa"),
            ("text", "a.deep.corp.test", DNSType(rawValue: 16), "NOERROR 16 octets of 16/3600"),
            ("all that there is", "www.corp.test", DNSType(rawValue: 255), "NOERROR 192.0.2.10/300 2001:db8::10/3600"),
        ] as [(String, String, DNSType, String)]
    )
    func lookUps(_ what: String, _ name: String, _ type: DNSType, _ expected: String) throws {
        let finding = try #require(try Self.set().lookUp(try Self.name(name), type))
        let answers = finding.answer.answers.map { record in
            switch record.data {
            case .address(let address): "\(address)/\(record.ttl)"
            case .alias(let target): "\(target)/\(record.ttl)"
            case .authority: "soa"
            case .other(let type, let octets): "\(octets.count) octets of \(type.rawValue)/\(record.ttl)"
            }
        }
        let soa = finding.answer.authorities.isEmpty ? [] : ["soa"]
        let outside = finding.outside.map { ["→ \($0)"] } ?? []
        let said = ([finding.answer.code.description] + answers + soa + outside).joined(separator: " ")
        #expect(said == expected, "\(what)")
    }

    @Test(
        "a negative answer and its SOA have the same TTL (RFC 2308 §3), and a queried SOA has its own"
    )
    func negativeTTL() throws {
        let set = try Self.set()
        let none = set.lookUp(try Self.name("nobody.corp.test"), .a)?.answer
        #expect(none?.authorities.map(\.ttl) == [300] && none?.ttl == 300)
        #expect(set.lookUp(try Self.name("corp.test"), .soa)?.answer.answers.map(\.ttl) == [3_600])
    }

    @Test(
        "a record without a TTL gets the previous record's TTL, or the SOA's MINIMUM if there is none",
        arguments: [("7200 SOA a b 1 1 1 1 60", 7_200), ("SOA a b 1 1 1 1 60", 60)] as [(String, UInt32)]
    )
    func missingTTL(_ soa: String, _ seconds: UInt32) throws {
        let set = try Self.set("$ORIGIN c.test.\n@ \(soa)\nx A 192.0.2.1\n")
        #expect(set.lookUp(try Self.name("x.c.test"), .a)?.answer.answers.map(\.ttl) == [seconds])
    }

    @Test("the records of a name and type have the least of their TTLs (RFC 2181 §5.2)")
    func differentTTLs() throws {
        let records = "x 300 A 192.0.2.1\nX 60 A 192.0.2.2\nx 900 A 192.0.2.1\nx 900 AAAA 2001:db8::1\n"
        let set = try Self.set("$ORIGIN c.test.\n@ 60 SOA a b 1 1 1 1 1\n\(records)")
        let name = try Self.name("x.c.test")
        #expect(set.lookUp(name, .a)?.answer.answers.map(\.ttl) == [60, 60])
        #expect(set.lookUp(name, .aaaa)?.answer.answers.map(\.ttl) == [900])
    }

    @Test("a zone does not answer for names outside it or for delegated names")
    func outside() throws {
        let set = try Self.set()
        for text in ["www.a.test", "test", "evilcorp.test", "below.corp.test", "www.below.corp.test"] {
            #expect(set.lookUp(try Self.name(text), .a) == nil, "\(text)")
        }
    }

    @Test("a loop of aliases is a server failure")
    func circle() throws {
        let text = "$ORIGIN c.test.\n@ 60 SOA a b 1 1 1 1 1\nx 60 CNAME y\ny 60 CNAME x\n"
        let finding = try Self.set(text).lookUp(try Self.name("x.c.test"), .a)
        #expect(finding?.answer.code == .serverFailure)
    }

    @Test(
        "an error names the line that caused it",
        arguments: [
            ("a A 192.0.2.1", "line 1: \"a\" is relative"), ("$ORIGIN c.test.\na 60 A 192.0.2", "line 2"),
            ("$ORIGIN c.test.\n@ SOA a b 1 1 1 1 1\nx FOO 1", "line 3: the type \"FOO\""),
            ("$ORIGIN c.test.\n@ SOA ( a b 1 1", "without )"), ("$ORIGIN c.test.\nx 60 A 192.0.2.1", "no SOA"),
            ("$ORIGIN c.test.\n@ SOA a b 1 1 1 1 1\nx.d.test. A 192.0.2.1", "not in the zone"),
            ("$INCLUDE other", "line 1: other cannot be read"), ("$GENERATE 1-9 a A 192.0.2.$", "line 1: $GENERATE"),
            ("$ORIGIN c.test.\nx 60 TXT \"open", "line 2"), ("$ORIGIN c.test.\nx 60 DNAME y", "line 2: DNAME is not"),
            ("$ORIGIN c.test.\nx 60 TYPE39 \\# 3 016100", "line 2: DNAME is not"),
            ("$ORIGIN c.test.\n@ 60 SOA a b 1 1 1 1 1\nx CNAME y\nX A 192.0.2.1", ".c.test has a CNAME and other"),
            ("$ORIGIN c.test.\n@ 60 SOA a b 1 1 1 1 1\nx CNAME y\nx CNAME z", ".c.test has a CNAME and other"),
            ("$ORIGIN c.test.\n\(String(repeating: "a", count: 64)) 60 A 192.0.2.1", "63 octets"),
        ]
    )
    func wrong(_ text: String, _ words: String) throws {
        #expect {
            try ZoneFile(parsing: Array(text.utf8))
        } throws: { error in
            "\(error)".contains(words)
        }
    }

    /// The content of an included file.
    private static func content(of path: String, in files: [String: String]) -> Result<[UInt8], UnreadableFile> {
        guard let text = files[path] else { return .failure(UnreadableFile(reason: "cannot be read")) }
        return .success(Array(text.utf8))
    }

    @Test("an included file can have its own origin, and the origin before it is restored afterwards (RFC 1035 §5.1)")
    func include() throws {
        let files = [
            "/zones/sub/hosts": "@ A 192.0.2.1\n$ORIGIN deeper\n$INCLUDE more\n",
            "/zones/sub/more": "x 60 A 192.0.2.2\n", "/etc/last": "x A 192.0.2.3\n",
        ]
        let text = """
            $ORIGIN c.test.
            $TTL 1h
            @ SOA a b 1 1 1 1 1
            www A 192.0.2.9
            $INCLUDE sub/hosts hosts
                AAAA 2001:db8::9
            $include "/etc/last" ; in quotation marks, and from the root
            """
        let file = try ZoneFile(parsing: Array(text.utf8), at: "/zones/c") { Self.content(of: $0, in: files) }
        let found = file.records.compactMap { record -> String? in
            guard case .address(let address) = record.data else { return nil }
            return "\(record.name) \(record.ttl) \(address)"
        }
        #expect(
            found == [
                "www.c.test 3600 192.0.2.9", "hosts.c.test 3600 192.0.2.1", "x.deeper.hosts.c.test 60 192.0.2.2",
                "www.c.test 3600 2001:db8::9", "x.c.test 3600 192.0.2.3",
            ]
        )
    }

    @Test(
        "inclusion loops and too many included files are refused, and an error names the chain of files",
        arguments: [
            ("$INCLUDE itself", "$INCLUDE itself", "included, or more than 8 in one another"),
            ("$INCLUDE itself", String(repeating: "$INCLUDE empty\n", count: 1_001), "more than 1000 files"),
            ("$INCLUDE itself", "a\nb FOO", "in itself, line 1: the record has no type"),
            ("\n\n$INCLUDE gone", "", "line 4: gone cannot be read"),
        ]
    )
    func includeIsBounded(_ text: String, _ itself: String, _ words: String) {
        let files = ["itself": itself, "empty": ""]
        #expect {
            try ZoneFile(parsing: Array("$ORIGIN c.test.\n".utf8) + Array(text.utf8)) {
                Self.content(of: $0, in: files)
            }
        } throws: { error in
            "\(error)".contains(words)
        }
    }

    @Test("a change in an included file reloads the zone, even after the file was missing")
    func includeReloads() throws {
        let folder = NSTemporaryDirectory() + "/beeline-zones-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        func write(_ text: String, _ name: String) throws {
            try Data(text.utf8).write(to: URL(fileURLWithPath: "\(folder)/\(name)"))
        }
        try write("$ORIGIN c.test.\n@ 60 SOA a b 1 1 1 1 1\n$INCLUDE hosts\n", "zone")
        try write("x 60 A 192.0.2.1\n", "hosts")
        let files = try ZoneFiles(["\(folder)/zone"])
        func ttl() throws -> UInt32? { files.set.lookUp(try Self.name("x.c.test"), .a)?.answer.answers.first?.ttl }
        #expect(files.reload() == (false, []))
        try write("x 600 A 192.0.2.1\n", "hosts")
        // A file is read at the second check, when it has not changed since the first one.
        #expect(files.reload() == (false, []))
        #expect(files.reload() == (true, []))
        #expect(try ttl() == 600)
        try FileManager.default.removeItem(atPath: "\(folder)/hosts")
        files.reload()
        let failures = files.reload().failures
        let reason = "line 3: \(folder)/hosts cannot be read: No such file or directory"
        #expect(failures.map(\.message) == ["\(folder)/zone, \(reason)"])
        #expect(files.reload() == (false, []))
        #expect(try ttl() == 600)
        try write("x 30 A 192.0.2.1\n", "hosts")
        files.reload()
        #expect(files.reload() == (true, []))
        #expect(try ttl() == 30)
    }

    @Test("an invalid zone does not prevent the reload of others, and two files cannot hold the same zone")
    func wrongBesideRight() throws {
        let folder = NSTemporaryDirectory() + "/beeline-zones-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        func write(_ name: String, zone: String, records: String) throws {
            let text = "$ORIGIN \(zone).\n@ 60 SOA a b 1 1 1 1 1\n\(records)\n"
            try Data(text.utf8).write(to: URL(fileURLWithPath: "\(folder)/\(name)"))
        }
        try write("one", zone: "one.test", records: "x A 192.0.2.1")
        try write("two", zone: "two.test", records: "x A 192.0.2.1")
        let files = try ZoneFiles(["\(folder)/one", "\(folder)/two"])
        func address(_ name: String) throws -> DNSRecord.Content? {
            files.set.lookUp(try Self.name(name), .a)?.answer.answers.first?.data
        }
        try write("one", zone: "one.test", records: "x A nonsense")
        try write("two", zone: "two.test", records: "x A 192.0.2.2")
        files.reload()
        #expect(files.reload().failures.map(\.code) == [.badZone])
        #expect(try address("x.one.test") == .address(IPAddress(v4: 0xc000_0201)))
        #expect(try address("x.two.test") == .address(IPAddress(v4: 0xc000_0202)))
        try write("two", zone: "one.test", records: "x A 192.0.2.3")
        try write("one", zone: "one.test", records: "x A 192.0.2.4")
        files.reload()
        #expect(files.reload().failures.first?.message.contains("is already in \(folder)/one") == true)
        #expect(try address("x.one.test") == .address(IPAddress(v4: 0xc000_0204)))
        #expect(try address("x.two.test") == .address(IPAddress(v4: 0xc000_0202)))
        #expect(throws: ServerError.self) { try ZoneFiles(["\(folder)/one", "\(folder)/two"]) }
    }

    /// Files with one zone each. Each zone has the name `x`.
    private static func folder(_ zones: [(file: String, zone: String, address: String)]) throws -> Folder {
        let folder = try Folder()
        for (file, zone, address) in zones { try folder.write(file, zone: zone, records: "x A \(address)") }
        return folder
    }

    private struct Folder {
        let path = NSTemporaryDirectory() + "/beeline-zones-\(UUID().uuidString)"

        init() throws { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true) }

        func remove() { try? FileManager.default.removeItem(atPath: path) }

        func write(_ file: String, zone: String, records: String) throws {
            let text = "$ORIGIN \(zone).\n@ 60 SOA a b 1 1 1 1 1\n\(records)\n"
            try Data(text.utf8).write(to: URL(fileURLWithPath: "\(path)/\(file)"), options: .atomic)
        }
    }

    private static func address(_ name: String, in files: ZoneFiles) throws -> DNSRecord.Content? {
        files.set.lookUp(try Self.name(name), .a)?.answer.answers.first?.data
    }

    @Test("a zone that a program is still writing is not served, so that its names are never absent")
    func halfWritten() throws {
        let folder = try Self.folder([("one", "one.test", "192.0.2.1")])
        defer { folder.remove() }
        let files = try ZoneFiles(["\(folder.path)/one"])
        try folder.write("one", zone: "one.test", records: "")
        #expect(files.reload() == (false, []))
        #expect(try Self.address("x.one.test", in: files) == .address(IPAddress(v4: 0xc000_0201)))
        try folder.write("one", zone: "one.test", records: "x A 192.0.2.2")
        #expect(files.reload() == (false, []))
        #expect(try Self.address("x.one.test", in: files) == .address(IPAddress(v4: 0xc000_0201)))
        #expect(files.reload() == (true, []))
        #expect(try Self.address("x.one.test", in: files) == .address(IPAddress(v4: 0xc000_0202)))
    }

    @Test(
        "zones may change places between files, also if the files are not written at the same time",
        arguments: [false, true]
    )
    func exchangedFiles(_ isSlow: Bool) throws {
        let folder = try Self.folder([("one", "one.test", "192.0.2.1"), ("two", "two.test", "192.0.2.2")])
        defer { folder.remove() }
        let files = try ZoneFiles(["\(folder.path)/one", "\(folder.path)/two"])
        try folder.write("one", zone: "two.test", records: "x A 192.0.2.4")
        if isSlow { files.reload() }
        try folder.write("two", zone: "one.test", records: "x A 192.0.2.3")
        // The first file rests before the second, and has the zone of the second.
        let failures = files.reload().failures + files.reload().failures
        #expect(failures.count == (isSlow ? 1 : 0))
        #expect(try Self.address("x.one.test", in: files) == .address(IPAddress(v4: 0xc000_0203)))
        #expect(try Self.address("x.two.test", in: files) == .address(IPAddress(v4: 0xc000_0204)))
        #expect(files.reload() == (false, []))
    }

    @Test("a file whose new zone is in another file keeps its previous zone, which a third file then cannot have")
    func zoneInTwoFiles() throws {
        let folder = try Self.folder([
            ("one", "one.test", "192.0.2.1"), ("two", "two.test", "192.0.2.2"), ("three", "three.test", "192.0.2.3"),
        ])
        defer { folder.remove() }
        let files = try ZoneFiles(["one", "two", "three"].map { "\(folder.path)/\($0)" })
        try folder.write("one", zone: "two.test", records: "x A 192.0.2.4")
        try folder.write("two", zone: "three.test", records: "x A 192.0.2.5")
        files.reload()
        let failures = files.reload().failures
        #expect(failures.count == 2 && failures.allSatisfy { $0.message.contains("is already in") })
        for (number, zone) in ["one", "two", "three"].enumerated() {
            let address = IPAddress(v4: 0xc000_0201 + UInt32(number))
            #expect(try Self.address("x.\(zone).test", in: files) == .address(address))
        }
    }

    @Test("duplicate records count once (RFC 2181 §5)")
    func twice() throws {
        let text = "$ORIGIN c.test.\n@ 60 SOA a b 1 1 1 1 1\nx A 192.0.2.1\nX 30 A 192.0.2.1\nx A 192.0.2.2\n"
        let answers = try Self.set(text).lookUp(try Self.name("x.c.test"), .a)?.answer.answers
        #expect(answers?.count == 2)
    }

    private static func content(_ text: String) throws(ServerError) -> (DNSType, [UInt8])? {
        let zone = "$ORIGIN c.test.\n@ 60 SOA a b 1 1 1 1 1\nx 60 IN \(text)\n"
        let record = try ZoneFile(parsing: Array(zone.utf8)).records.last
        if case .other(let type, let octets)? = record?.data { return (type, octets) }
        return nil
    }

    /// The test vectors of RFC 9460 Appendix D, under another name, and some for CAA. Octets are in hexadecimal.
    @Test(
        "CAA (RFC 8659 §4) and service bindings (RFC 9460 §2.1) are read and written again",
        arguments: [
            ("CAA 0 issue \"ca.test\"", "0005697373756563612e74657374", "0 issue \"ca.test\""),
            ("CAA 128 IODEF mailto:x@c.test", "8005494f4445466d61696c746f3a7840632e74657374", nil),
            ("CAA 0 issue \";\"", "000569737375653b", "0 issue \";\""),
            ("HTTPS 0 foo.example.com.", "000003666f6f076578616d706c6503636f6d00", "0 foo.example.com."),
            ("SVCB 1 .", "000100", "1 ."),
            ("SVCB 16 . port=53", "001000000300020035", "16 . port=53"),
            ("SVCB 1 . key667=hello", "000100029b000568656c6c6f", "1 . key667=hello"),
            (#"SVCB 1 . key667="hello\210qoo""#, "000100029b000968656c6c6fd2716f6f", #"1 . key667="hello\210qoo""#),
            (
                #"SVCB 1 . ipv6hint="2001:db8::1,2001:db8::53:1""#,
                "00010000060020" + "20010db8000000000000000000000001" + "20010db8000000000000000000530001",
                "1 . ipv6hint=2001:db8::1,2001:db8::53:1"
            ),
            (
                "SVCB 16 . (alpn=h2,h3-19 mandatory=ipv4hint,alpn ipv4hint=192.0.2.1)",
                "001000" + "0000000400010004" + "000100090268320568332d3139" + "00040004c0000201",
                "16 . mandatory=alpn,ipv4hint alpn=h2,h3-19 ipv4hint=192.0.2.1"
            ),
            (
                #"SVCB 16 . alpn="f\\\\oo\\,bar,h2""#, "001000" + "0001000c08665c6f6f2c626172026832",
                #"16 . alpn="f\\\\oo\\,bar,h2""#
            ),
            (#"SVCB 16 . alpn=f\\\092oo\092,bar,h2"#, "001000" + "0001000c08665c6f6f2c626172026832", nil),
            (
                "HTTPS 1 dns alpn=h2 no-default-alpn ech=\"AEj+\" dohpath=/dns-query{?dns}",
                "000103646e730163047465737400" + "0001000302683200020000" + "000500030048fe"
                    + "000700102f646e732d71756572797b3f646e737d",
                "1 dns.c.test. alpn=h2 no-default-alpn ech=AEj+ dohpath=/dns-query{?dns}"
            ),
            ("TYPE65 \\# 3 000100", "000100", "1 ."), ("CLASS1 TYPE731 \\# 2 ab cd", "abcd", "\\# 2 abcd"),
            ("TYPE731 \\# 0", "", "\\# 0 "), ("TYPE15 10 mail", "000a046d61696c0163047465737400", "10 mail.c.test."),
        ] as [(String, String, String?)]
    )
    func forms(_ text: String, _ hex: String, _ written: String?) throws {
        let (type, octets) = try #require(try Self.content(text))
        #expect(Hex.encode(octets) == hex)
        let again = RecordText.write(type, octets)
        if let written { #expect(again == written) }
        #expect(try Self.content("\(type.label) \(again)")?.1 == octets)
    }

    @Test(
        "invalid record texts are refused",
        arguments: [
            "CAA 256 issue a", "CAA 0 is-sue a", "CAA 0 issue", "HTTPS 1", "HTTPS 65536 .", "HTTPS 1 . port=x",
            "HTTPS 1 . port=+53", "HTTPS 1 . port=53 port=54", "HTTPS 1 . alpn=", "HTTPS 1 . alpn=a,,b",
            "HTTPS 1 . no-default-alpn", "HTTPS 1 . alpn=h2 no-default-alpn=x", "HTTPS 1 . mandatory=port",
            "HTTPS 1 . mandatory=port,port port=1", "HTTPS 1 . mandatory=mandatory", "HTTPS 1 . ipv4hint=2001:db8::1",
            "HTTPS 1 . key65535=x", "HTTPS 1 . key01=x", "HTTPS 1 . nokey=x", "HTTPS 1 . ech=?", "TYPE1 \\# 3 c00002",
            "TYPE731 \\# 3 abcd", "TYPE731 \\# 1 abc", "TYPE5 \\# 2 c000", "TYPE6 \\# 2 0000", "CH TXT a", "ANY a",
            "DS 1", "TYPE41 \\# 0", "TYPE251 \\# 0", "MX \\# 4 00010161", "MX \\# 4 0001c00c", "TXT \\# 2 0541",
            "NS \\# 2 0161", "SRV \\# 3 010203", "CAA \\# 2 0005", "CAA \\# 4 0002c3bc",
            "HTTPS \\# 11 000100 00030002 0050 0001",
        ]
    )
    func noForms(_ text: String) {
        #expect(throws: ServerError.self) { try Self.content(text) }
    }

    @Test("a time whose sum overflows is an error")
    func endlessTime() {
        let time = String(repeating: "4294967295w", count: 8_000)
        #expect(throws: ServerError.self) { try ZoneFile(parsing: Array("$ORIGIN a.test.\n$TTL \(time)\n".utf8)) }
    }

    @Test("known types in hexadecimal are read as those types (RFC 3597 §5)")
    func generalForms() throws {
        let text = """
            $ORIGIN c.test.
            @ 60 TYPE6 \\# 26 01610001620000000001000000020000000300000004 00000005
            x 60 TYPE1 \\# 4 C0000201
            x 60 CLASS1 TYPE28 \\# 16 20010db8 0000000000000000 00000001
            y 60 TYPE5 \\# 10 0178016304746573 7400
            """
        let set = try Self.set(text)
        #expect(set.lookUp(try Self.name("y.c.test"), .a)?.answer.answers.count == 2)
        #expect(set.lookUp(try Self.name("x.c.test"), .aaaa)?.answer.answers.count == 1)
        #expect(set.lookUp(try Self.name("none.c.test"), .a)?.answer.ttl == 5)
    }

    @Test("the text of a record with any octets reads back as the same octets, and malformed ones are refused")
    func fuzzForms() throws {
        var random = SeededRandom(seed: 9_460)
        let seeds = try ["HTTPS 1 dns alpn=h2,h3 port=1 ipv4hint=192.0.2.1 dohpath=/q", "CAA 0 issue \"ca.test\""].map {
            try #require(try Self.content($0))
        }
        for _ in 0..<FuzzRounds.count(ordinary: 1_500) {
            var (type, octets) = seeds[Int(random.next() % UInt64(seeds.count))]
            for _ in 0...(random.next() % 3) where !octets.isEmpty {
                let at = Int(random.next() % UInt64(octets.count))
                switch random.next() % 3 {
                case 0: octets[at] = UInt8(truncatingIfNeeded: random.next())
                case 1: octets.remove(at: at)
                default: octets.insert(UInt8(truncatingIfNeeded: random.next()) & 7, at: at)
                }
            }
            let text = RecordText.write(type, octets)
            if text.hasPrefix("\\#") {
                #expect(throws: ServerError.self) { try Self.content("\(type.label) \(text)") }
                continue
            }
            let again = try Self.content("\(type.label) \(text)")?.1
            if again != octets { Issue.record("\(Hex.encode(octets)) is written as \(text)") }
        }
    }

    @Test("no zone file makes the reader trap, and each accepted one can be queried")
    func fuzz() throws {
        let rounds = FuzzRounds.count(ordinary: 3_000)
        var random = SeededRandom(seed: 20_261_121)
        func next() -> UInt64 { random.next() }
        let seed = Array((ServerLab.zone + "x 60 HTTPS 1 . alpn=\"h2,h3\" port=1\nx CAA 0 issue \"a\"\n").utf8)
        let signs = Array("()\"\\;@$*.\n\t 0198azIN#".utf8) + [0, 0xff]
        var taken = 0
        for _ in 0..<rounds {
            var octets = seed
            for _ in 0...(next() % 6) {
                let at = Int(next() % UInt64(octets.count))
                switch next() % 3 {
                case 0: octets[at] = signs[Int(next() % UInt64(signs.count))]
                case 1: octets.remove(at: at)
                default: octets.insert(signs[Int(next() % UInt64(signs.count))], at: at)
                }
            }
            do throws(ServerError) {
                let file = try ZoneFile(parsing: octets)
                let set = ZoneSet([AuthoritativeZone(file)])
                for record in file.records { _ = set.lookUp(record.name, record.type) }
                taken += 1
            } catch {
                #expect(error.code == .badZone)
            }
        }
        #expect(taken > 0)
    }
}

@Suite("Rate limiter")
struct RateLimiterTests {
    private static let one = IPAddress(v4: 0x0a00_0001)

    /// Returns whether the client is allowed at each of these times, in nanoseconds.
    private static func asks(_ limiter: inout RateLimiter, _ client: IPAddress, at times: Int64...) -> [Bool] {
        times.map { limiter.allows(client, now: $0) }
    }

    @Test("a client's bucket empties with its questions and fills with time")
    func bucket() {
        var limiter = RateLimiter(perSecond: 2, burst: 3, maxClients: 10)
        let second: Int64 = 1_000_000_000
        let said = Self.asks(&limiter, Self.one, at: 0, 0, 0, 0, second, second, second)
        #expect(said == [true, true, true, false, true, true, false])
        let other = Self.asks(&limiter, IPAddress(v4: 0x0a00_0002), at: 0)
        #expect(other == [true])
    }

    @Test("IPv6 clients share a bucket per /64, and mapped addresses count as IPv4")
    func networks() {
        var limiter = RateLimiter(perSecond: 1, burst: 1, maxClients: 10)
        let clients = [
            IPAddress(v6: 1, 1), IPAddress(v6: 1, 2), IPAddress(v6: 2, 1), IPAddress(v6: 0, 0xffff_0a00_0001), Self.one,
        ]
        let said = clients.map { limiter.allows($0, now: 0) }
        #expect(said == [true, false, true, true, false])
    }

    @Test("the table of clients has a bound")
    func bound() {
        var limiter = RateLimiter(perSecond: 1, burst: 2, maxClients: 100)
        for index in 0..<10_000 { _ = limiter.allows(IPAddress(v4: UInt32(index)), now: Int64(index)) }
        #expect(limiter.count <= 100)
    }
}
