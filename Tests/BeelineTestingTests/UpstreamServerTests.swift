// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import HTTPTypes
import Names
import Testing

@Suite(.timeLimit(.minutes(1))) struct UpstreamServerTests {
    static func zone() throws -> Zone {
        let zone = Zone()
        try zone.set("www.a.test", to: ["192.0.2.1", "192.0.2.2", "2001:db8::1"], ttl: 60)
        try zone.set("four.test", to: ["192.0.2.4"], ttl: 9)
        zone.set("alias.test", .alias(of: "www.a.test", ttl: 30))
        zone.set("circle.test", .alias(of: "circle.test"))
        zone.set("bare.test", .noAddress)
        zone.set("broken.test", .failure)
        return zone
    }

    @Test(arguments: [
        ("A by default", "/d?dn=www.a.test", "192.0.2.1;192.0.2.2"),
        ("with its TTL", "/d?dn=www.a.test&ttl=1", "192.0.2.1;192.0.2.2,60"),
        ("whatever the case", "/d?dn=WWW.a.Test.&ttl=1", "192.0.2.1;192.0.2.2,60"),
        ("AAAA", "/d?dn=www.a.test&ttl=1&type=aaaa", "2001:db8::1,60"),
        ("both", "/d?dn=www.a.test&ttl=1&type=addrs", "192.0.2.1;192.0.2.2,60-2001:db8::1,60"),
        ("both of one", "/d?dn=four.test&ttl=1&type=addrs", "192.0.2.4,9-0"),
        ("an alias has the smaller TTL", "/d?dn=alias.test&ttl=1", "192.0.2.1;192.0.2.2,30"),
        ("several names", "/d?dn=four.test,gone.test&ttl=1", "four.test.:192.0.2.4,9\ngone.test.:0"),
        ("the client's address", "/d?dn=four.test&ttl=1&clientip=1&query=1", "four.test.:192.0.2.4,9|127.0.0.1"),
        ("no such name", "/d?dn=gone.test&ttl=1", ""),
        ("no AAAA", "/d?dn=four.test&ttl=1&type=aaaa", "0"),
        ("an endless alias", "/d?dn=circle.test&ttl=1", ""),
        (
            "Aliyun 1", "/1000/d?host=four.test",
            #"{"client_ip":"127.0.0.1","host":"four.test","ips":["192.0.2.4"],"origin_ttl":9,"ttl":9}"#
        ),
        (
            "Aliyun 1, both", "/1000/d?host=four.test&query=4,6",
            #"{"client_ip":"127.0.0.1","host":"four.test","ips":["192.0.2.4"],"ipsv6":[],"origin_ttl":9,"ttl":9}"#
        ),
        (
            "Aliyun 1, batch", "/1000/resolve?host=four.test",
            #"{"dns":[{"client_ip":"127.0.0.1","host":"four.test","ips":["192.0.2.4"],"origin_ttl":9,"ttl":9}]}"#
        ),
        (
            "Aliyun 2", "/v2/d?dn=four.test&q=4,6",
            #"{"code":"success","data":{"answers":[{"dn":"four.test","v4":{"ips":["192.0.2.4"],"ttl":9},"#
                + #""v6":{"ips":[],"no_ip_code":"RRNotExist","ttl":9}}],"cip":"127.0.0.1"},"mode":0}"#
        ),
        (
            "JSON", "/resolve?name=four.test&type=A",
            #"{"AD":false,"Answer":[{"TTL":9,"data":"192.0.2.4","name":"four.test.","type":1}],"CD":false,"#
                + #""Question":[{"name":"four.test.","type":1}],"RA":true,"RD":true,"Status":0,"TC":false}"#
        ),
        (
            "JSON, no such name", "/dns-query?name=gone.test&type=28",
            #"{"AD":false,"Authority":[{"TTL":900,"data":"ns.test. mail.test. 1 7200 900 1209600 30","#
                + #""name":"test.","type":6}],"CD":false,"Question":[{"name":"gone.test.","type":28}],"#
                + #""RA":true,"RD":true,"Status":3,"TC":false}"#
        ),
    ])
    func aTextForm(_: String, target: String, expected: String) async throws {
        let upstream = try await UpstreamServer.start(zone: Self.zone())
        let (status, body) = try await get(upstream, target)
        #expect(status == 200)
        #expect(String(decoding: body, as: UTF8.self) == expected)
        await upstream.stop()
    }

    /// Queries for the A records of example.com, with ID 0, and of www.a.test.
    static let exampleQuery = "AAABAAABAAAAAAAAB2V4YW1wbGUDY29tAAABAAE"
    static let aQuery = "EjQBAAABAAAAAAAAA3d3dwFhBHRlc3QAAAEAAQ"

    @Test func anAnswerIsTheMessageOfRFC1035() async throws {
        let upstream = try await UpstreamServer.start()
        try upstream.zone.set("example.com", to: ["192.0.2.1"], ttl: 256)
        let (status, body) = try await get(upstream, "/dns-query?dns=\(Self.exampleQuery)")
        #expect(status == 200)
        #expect(
            body == [0, 0, 0x81, 0x80, 0, 1, 0, 1, 0, 0, 0, 0]
                + [7] + Array("example".utf8) + [3] + Array("com".utf8) + [0, 0, 1, 0, 1]
                + [0xc0, 12, 0, 1, 0, 1, 0, 0, 1, 0, 0, 4, 192, 0, 2, 1]
        )
        let query = try #require(upstream.queries.first)
        #expect(query.name == "example.com" && query.families == [.v4] && query.form == .doh)
        await upstream.stop()
    }

    @Test func aNameThatDoesNotExistIsNXDOMAINWithSOA() async throws {
        let upstream = try await UpstreamServer.start()
        let (_, body) = try await get(upstream, "/dns-query?dns=\(Self.exampleQuery)")
        #expect(body.prefix(12) == [0, 0, 0x81, 0x83, 0, 1, 0, 0, 0, 1, 0, 0])
        #expect(body.suffix(4) == [0, 0, 0, 30])
        await upstream.stop()
    }

    @Test func aMessageIsTakenByPostOfItsTypeOnly() async throws {
        let upstream = try await UpstreamServer.start(zone: Self.zone())
        let query: [UInt8] =
            [0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 4] + Array("four".utf8) + [4]
            + Array("test".utf8) + [0, 0, 1, 0, 1]
        for (type, expected) in [("application/dns-message", 200), ("text/plain", 415)] {
            let head = "POST /dns-query HTTP/1.1\r\nContent-Type: \(type)\r\nContent-Length: \(query.count)\r\n"
            let (status, body) = try await exchange(upstream, Array((head + "Connection: close\r\n\r\n").utf8) + query)
            #expect(status == expected)
            if status == 200 { #expect(body.suffix(4) == [192, 0, 2, 4]) }
        }
        await upstream.stop()
    }

    /// The bytes that show each fault, at an offset, or at the end without one.
    @Test(
        arguments: [
            (UpstreamFault.wrongID, 0, [0xed, 0xcb]),
            (.queryInAnswer, 2, [0x01]),
            (.truncatedBit, 2, [0x83, 0x80, 0, 1, 0, 0]),
            (.wrongQuestion, 12, [9] + Array("elsewhere".utf8)),
            (.wrongOwner, 28, [9] + Array("elsewhere".utf8)),
            (.wrongClass, 30, [0, 1, 0, 3]),
            (.pointerLoop, 28, [0xc0, 28]),
            (.aliasLoop, 28, [0xc0, 12, 0, 5]),
            (.shortAddress, 38, [0, 3, 192, 0, 2]),
            (.longRecord, 38, [1, 0x90, 192, 0, 2, 1]),
            (.countTooHigh, 6, [0xff, 0xff]),
            (.cutMessage, nil, [0, 4, 192, 0]),
            (.trailingBytes, nil, [192, 0, 2, 1, 0, 0, 0]),
            (.ttl("4294967295"), 34, [0xff, 0xff, 0xff, 0xff]),
            (.manyAddresses(300), 6, [1, 44]),
            (.oversizedMessage, 6, [0x11]),
        ] as [(UpstreamFault, Int?, [UInt8])]
    )
    func aFaultOfTheMessage(fault: UpstreamFault, offset: Int?, bytes: [UInt8]) async throws {
        let upstream = try await UpstreamServer.start()
        try upstream.zone.set("www.a.test", to: ["192.0.2.1"])
        upstream.zone.set("www.a.test", fault: fault)
        let (_, body) = try await get(upstream, "/dns-query?dns=\(Self.aQuery)")
        let seen = offset.map { body.dropFirst($0).prefix(bytes.count) } ?? body.suffix(bytes.count)
        #expect(Array(seen) == bytes)
        if fault.description == "oversized" { #expect(body.count > 65_535) }
        await upstream.stop()
    }

    @Test(arguments: UpstreamFault.brokenResponses)
    func aFaultOfTheResponseLeavesNoAnswer(fault: UpstreamFault) async throws {
        let upstream = try await UpstreamServer.start(zone: Self.zone())
        upstream.zone.set("four.test", fault: fault)
        let answer = try? await get(upstream, "/d?dn=four.test&ttl=1")
        #expect(answer?.status != 200 || answer.map { String(decoding: $0.body, as: UTF8.self) } != "192.0.2.4,9")
        #expect(upstream.queries.count == 1)
        // Another name still gets its answer.
        #expect(try await get(upstream, "/d?dn=www.a.test").status == 200)
        await upstream.stop()
    }

    @Test func aDelayedAnswerComesWhenTheGateOpens() async throws {
        let gate = Gate()
        let upstream = try await UpstreamServer.start(zone: Self.zone())
        upstream.zone.set("four.test", fault: .delayed(by: gate))
        async let answer = get(upstream, "/d?dn=four.test")
        try await gate.arrivals(atLeast: 1)
        gate.open()
        #expect(try await answer.status == 200)
        await upstream.stop()
    }

    @Test func fieldsAreAddedToTheRightAnswer() async throws {
        let upstream = try await UpstreamServer.start(zone: Self.zone())
        upstream.zone.set("four.test", fault: .fields([.age: "290", .contentType: "text/html"]))
        let connection = try await RawConnection.connect(to: upstream.endpoint)
        try await connection.send("GET /d?dn=four.test HTTP/1.1\r\n\r\n")
        let head = String(decoding: try await connection.receive(until: "\r\n\r\n") ?? [], as: UTF8.self)
        #expect(head.contains("Age: 290\r\n") && head.contains("Content-Type: text/html\r\n"))
        await connection.close()
        await upstream.stop()
    }

    private func get(_ upstream: UpstreamServer, _ target: String) async throws -> (status: Int, body: [UInt8]) {
        try await exchange(upstream, Array("GET \(target) HTTP/1.1\r\nConnection: close\r\n\r\n".utf8))
    }

    private func exchange(_ upstream: UpstreamServer, _ request: [UInt8]) async throws -> (status: Int, body: [UInt8]) {
        let connection = try await RawConnection.connect(to: upstream.endpoint)
        defer { Task { await connection.close() } }
        try await connection.send(request)
        guard let head = try await connection.receive(until: "\r\n\r\n") else {
            throw TestingError(.closed, "no answer")
        }
        var body: [UInt8] = []
        while let more = try await connection.receive() { body += more }
        let status = String(decoding: head, as: UTF8.self).split(separator: " ").dropFirst().first.flatMap { Int($0) }
        return (status ?? 0, body)
    }
}
