// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOEmbedded
import Names

@testable import HTTPDNS

extension Fuzzer {
    /// Decoders of hosts, URLs, dates and the answers of upstreams.
    static let names: [Fuzzer] = [
        Fuzzer("host", texts: ["www.bücher.example", "[2001:db8::1]", "0x7f.1", "xn--bcher-kva.example.", "１２７.1"]) {
            let text = String(decoding: $0, as: UTF8.self)
            guard let host = try? Host(text) else { return }
            if (try? Host(host.description)) != host { violation("\(host) is not read again as itself") }
        },
        Fuzzer("url", texts: ["https://a.test:8443/x/../y?q=1#f", "http://me:pw@[::1]/%2e%2E/é", "//b/../c;d?e"]) {
            let text = String(decoding: $0, as: UTF8.self)
            _ = try? HTTPURL("https://a.test/b/c").resolving(text)
            // A description omits user and password.
            guard let url = try? HTTPURL(text), !text.contains("@") else { return }
            if (try? HTTPURL(url.description)) != url { violation("\(url) is not read again as itself") }
        },
        Fuzzer("http-date", texts: ["Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT"]) {
            _ = HTTPDate.parse(String(decoding: $0, as: UTF8.self))
        },
        Fuzzer(
            "dns-message",
            seeds: [
                [0, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1, 3, 119, 119, 119, 1, 97, 0, 0, 1, 0, 1, 0, 0, 41, 4, 208]
                    + [0, 0, 0, 0, 0, 11, 0, 8, 0, 7, 0, 1, 24, 0, 203, 0, 113],
                [0, 7, 0x81, 0x80, 0, 1, 0, 2, 0, 0, 0, 0, 1, 97, 0, 0, 1, 0, 1, 0xc0, 12, 0, 5, 0, 1, 0, 0, 0, 60, 0]
                    + [4, 1, 98, 0xc0, 12, 0xc0, 25, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 192, 0, 2, 1],
            ]
        ) { bytes in
            let message = try DNSMessage(octets: bytes)
            if let name = DNSName("a") { _ = try? message.records(answering: DNSQuestion(name, .a)) }
            guard let written = message.encoded() else { return }
            if try DNSMessage(octets: written) != message { violation("a message is not read again as itself") }
        },
        Fuzzer(
            "service-record",
            seeds: [
                [0, 0, 3, 102, 111, 111, 0], [0, 1, 0, 0, 3, 0, 2, 0, 53],
                [0, 16, 0, 0, 0, 0, 4, 0, 1, 0, 4, 0, 1, 0, 9, 2, 104, 50, 5, 104, 51, 45, 49, 57]
                    + [0, 4, 0, 4, 192, 0, 2, 1, 0, 5, 0, 3, 1, 2, 3],
                // 40 mandatory keys.
                [0, 1, 0, 0, 0, 0, 80] + (100..<140).flatMap { [0, UInt8($0)] }
                    + (100..<140).flatMap { [0, UInt8($0), 0, 0] },
            ]
        ) { bytes in
            guard let record = HTTPSRecord(octets: bytes) else { return }
            if record.octets != bytes, !record.isAlias { violation("a record is not written as it was read") }
            _ = ServiceRoute(record, target: nil)
            let text = record.description
            // Some octets of a name cannot be read from text.
            guard let again = HTTPSRecord(text: text), again.targetName == record.targetName else { return }
            if again != record { violation("a record is not read again from its text") }
        },
        Fuzzer("json", texts: [#"{"a":[1,-2.5e3,true,null,"\u00e9\ud83c\udf6a"],"b":{}}"#, "[[[[]]]]"]) { bytes in
            guard let value = JSONValue(bytes) else { return }
            if JSONValue(Array(value.text.utf8)) != value { violation("JSON is not read again as itself") }
        },
        Fuzzer(
            "dns-json",
            texts: [
                #"{"Status":0,"Question":[{"name":"a.","type":1}],"Answer":[{"name":"a.","type":1,"TTL":60,"data":"192.0.2.1"}]}"#
            ]
        ) { bytes in
            guard let json = JSONValue(bytes) else { return }
            _ = try DNSMessage(json)?.encoded()
        },
        Fuzzer("dnspod", texts: ["192.0.2.1;192.0.2.2,60|203.0.113.9", "a.test.:192.0.2.1,60-2001:db8::1,30"]) {
            bytes in
            let text = String(decoding: bytes, as: UTF8.self)
            for families in [Families.v4, .both] {
                _ = try? DNSPodAnswer.parse(text, families: families, named: true)
                _ = try? DNSPodAnswer.parse(text, families: families, named: false)
            }
        },
        Fuzzer(
            "aliyun",
            texts: [
                #"{"host":"a.test","ips":["192.0.2.1"],"ipsv6":["2001:db8::1"],"ttl":60,"origin_ttl":60,"client_ip":"203.0.113.9"}"#,
                #"{"code":"success","mode":0,"data":{"cip":"203.0.113.9","answers":[{"dn":"a.test","v4":{"ips":["192.0.2.1"],"ttl":9}}]}}"#,
                #"{"service_ip":["192.0.2.7"],"service_ip_port":[80]}"#,
            ]
        ) { bytes in
            guard let json = JSONValue(bytes), let host = try? Host("a.test") else { return }
            _ = try? AliyunAnswer.single(json, host: host, families: .both)
            _ = try? AliyunAnswer.batch(json, hosts: [host], families: .both)
            _ = try? AliyunAnswer.version2(json, hosts: [host], families: .both)
            _ = try? AliyunSchedule(json, isSecure: false)
        },
        Fuzzer(
            "other-services",
            texts: [
                #"{"data":{"a.test":{"ip":["192.0.2.1"],"ipv6":["2001:db8::1"],"ttl":60}},"msg":"ok","timestamp":9}"#,
                #"{"dns":[{"domain":"a.test","ips":["192.0.2.1"],"ttl":60}]}"#,
            ]
        ) { bytes in
            let host = try Host("a.test")
            let reply = UpstreamReply(status: 200, body: bytes)
            _ = try? BaiduUpstream.read(reply, hosts: [host], families: .both, isAuthenticated: true)
            guard let json = JSONValue(bytes) else { return }
            _ = try? VolcengineUpstream.read(json, host: host, family: .v4)
        },
        Fuzzer("dns-stream-replies", seeds: [[0, 5, 0x81, 0x80, 7], [0, 2, 0, 1, 9], [0, 0, 0, 1]]) { bytes in
            try readReply(from: bytes)
        },
        Fuzzer("sealed-answers", seeds: sealed) { bytes in
            for cipher in ciphers {
                guard let text = cipher.open(bytes) else { continue }
                if text.count >= bytes.count { violation("a text that is longer than its ciphertext") }
            }
        },
        Fuzzer(
            "remote-switch",
            texts: [
                #"{"enabled":true,"issued":1700000000,"expires":1700086400,"denied":["a.test"],"allowed":["b.test"],"canary":25}"#
            ]
        ) { bytes in
            var (state, now) = (RemoteState(), Int64(1_700_000_000))
            _ = state.received(try RemoteDocument(bytes, signedBy: nil), now: now)
            let pause = state.pause(interval: .seconds(3_600), now: now)
            guard pause > .zero, pause <= .seconds(3_600) else { violation("a pause beyond its bounds") }
            now += RemoteDocument.longestLife
            _ = state.expire(now: now)
            if state.document != nil { violation("a document that does not expire") }
        },
        Fuzzer("hosts-file", texts: ["192.0.2.1 www.example.com a\n::1 b # c\n"]) { bytes in
            _ = HostsTable(parsing: String(decoding: bytes, as: UTF8.self))
        },
    ]

    private static let ciphers = [AESCipher.Mode.cbc, .gcm].compactMap {
        AESCipher($0, key: [UInt8](repeating: 7, count: 16))
    }

    private static let sealed = ciphers.compactMap { cipher in
        try? cipher.seal(Array("192.0.2.1,60".utf8), vector: [UInt8](repeating: 9, count: cipher.vectorSize))
    }

    /// Reads the replies of a DNS server over TCP, which arrive in pieces. The ID of the first reply, which the handler
    /// chooses, is inserted after its length.
    private static func readReply(from bytes: [UInt8]) throws {
        let channel = EmbeddedChannel()
        defer { _ = try? channel.finish(acceptAlreadyClosed: true) }
        let handler = DNSStreamHandler(secured: nil, silence: .seconds(1))
        try channel.pipeline.syncOperations.addHandler(handler)
        channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 853), promise: nil)
        let promise = channel.eventLoop.makePromise(of: [UInt8].self)
        var id: [UInt8] = []
        let query = { (chosen: UInt16) -> [UInt8] in
            id = [UInt8(chosen >> 8), UInt8(chosen & 255)]
            return id
        }
        handler.ask(query, promise: promise)
        var reply: [UInt8]?
        promise.futureResult.assumeIsolated().whenSuccess { reply = $0 }
        let stream = Array(bytes.prefix(2)) + id + Array(bytes.dropFirst(2))
        var rest = stream[...]
        while !rest.isEmpty {
            try channel.writeInbound(ByteBuffer(bytes: rest.prefix(3)))
            rest = rest.dropFirst(3)
        }
        guard bytes.count >= 2 else { return }
        let length = Int(bytes[0]) << 8 | Int(bytes[1])
        guard length >= 2, stream.count >= 2 + length else { return }
        if reply != Array(stream.dropFirst(2).prefix(length)) { violation("a reply that differs from its octets") }
    }
}
