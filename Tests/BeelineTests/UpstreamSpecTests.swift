// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineTesting
import Foundation
import Testing

@Suite("Upstream specifications")
struct UpstreamSpecTests {
    static func endpoint(_ text: String, _ port: UInt16) throws -> Endpoint {
        try Endpoint(parsing: text, defaultPort: port)
    }

    @Test("specifications without secrets are parsed")
    func plain() throws {
        let url = try HTTPURL("https://dns.example/dns-query")
        let address = try #require(IPAddress("192.0.2.1"))
        let host = try Host("dns.example")
        let specs: [(String, UpstreamSpec)] = [
            ("system", .system),
            ("dnspod", .dnspod()),
            ("dnspod:192.0.2.1", .dnspod(at: [try Self.endpoint("192.0.2.1", 80)])),
            ("dnspod:[2001:db8::1]:8080", .dnspod(at: [try Self.endpoint("[2001:db8::1]:8080", 80)])),
            ("doh:https://dns.example/dns-query#192.0.2.1", .doh(url, at: [address])),
            ("doh:https://dns.example/dns-query{?dns}#192.0.2.1", .doh(url, at: [address])),
            ("json:https://dns.example/dns-query#192.0.2.1", .json(url, at: [address])),
            ("dot:dns.example#192.0.2.1", .dot(host, at: [address])),
            ("dot:dns.example:8853#192.0.2.1", .dot(host, at: [address], port: 8853)),
            ("dns:192.0.2.1", .dns([try Self.endpoint("192.0.2.1", 53)])),
            ("aliyun:100000", .aliyun(account: "100000")),
            ("aliyun2+http:100000", .aliyun2(account: "100000", service: AliyunService(isSecure: false))),
        ]
        for (text, spec) in specs { #expect(try UpstreamSpec(parsing: text) == spec, "\(text)") }
    }

    @Test("printing a client's configuration shows the accounts of its upstreams, but no secrets")
    func printing() {
        var configuration = ClientConfiguration()
        configuration.upstreams = [
            .aliyun(account: "100000", secret: "s3cret"),
            .aliyun2(account: "100000", secret: "s3cret", encryption: .gcm(key: [UInt8](repeating: 171, count: 16))),
            .baidu(account: "100000", secret: "s3cret"), .volcengine(account: "100000", secret: "s3cret", at: []),
            .dnspod(.aes(id: "100000", key: "\u{7f}\u{7f}")), .dnspod(.token("s3cret")), .system,
        ]
        var dumped = ""
        dump(configuration.upstreams, to: &dumped)
        let texts = [
            "\(configuration)", String(reflecting: configuration), "\(configuration.upstreams)", dumped,
            "\(DNSPodForm.token("s3cret"))", "\(AliyunEncryption.cbc(key: [171, 171]))",
        ]
        for text in texts {
            #expect(!["s3cret", "171, 171", "127, 127"].contains { text.contains($0) }, "\(text)")
        }
        #expect(dumped.contains("100000"))
    }

    @Test("secrets are read from files, without surrounding white space")
    func secrets() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("spec-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = { (name: String, text: String) in
            let path = folder.appendingPathComponent(name).path
            try text.write(toFile: path, atomically: true, encoding: .utf8)
            return path
        }
        let key = try file("key", "0123456789abcdef\n")
        let secret = try file("secret", " s3cret\n")
        let endpoint = try Self.endpoint("192.0.2.1:8443", 443)
        let aes = try UpstreamSpec(parsing: "dnspod+aes:7:\(key)@192.0.2.1:8443")
        #expect(aes == .dnspod(.aes(id: "7", key: "0123456789abcdef"), at: [endpoint]))
        let token = try UpstreamSpec(parsing: "dnspod+https:\(secret)@192.0.2.1:8443")
        #expect(token == .dnspod(.token("s3cret"), at: [endpoint]))
        var service = AliyunService(at: [endpoint.address], port: 8443)
        service.certificateNames.append(try Host("192.0.2.1"))
        let first = try UpstreamSpec(parsing: "aliyun:100000:\(secret)@192.0.2.1:8443")
        #expect(first == .aliyun(account: "100000", secret: "s3cret", service: service))
        let second = try UpstreamSpec(parsing: "aliyun2:100000:\(secret):\(key)@192.0.2.1:8443")
        let cipher = AliyunEncryption.cbc(key: Array("0123456789abcdef".utf8))
        #expect(second == .aliyun2(account: "100000", secret: "s3cret", encryption: cipher, service: service))
        let hexadecimal = try file("hexadecimal", "30313233343536373839616263646566\n")
        #expect(try UpstreamSpec(parsing: "aliyun2:100000:\(secret):\(hexadecimal)@192.0.2.1:8443") == second)
        let baidu = try UpstreamSpec(parsing: "baidu:42:\(secret)@192.0.2.1:8443")
        #expect(baidu == .baidu(account: "42", secret: "s3cret", at: [endpoint]))
        #expect(try UpstreamSpec(parsing: "baidu:42:\(secret)") == .baidu(account: "42", secret: "s3cret"))
        let volcengine = try UpstreamSpec(parsing: "volcengine+http:42:\(secret)@192.0.2.1:8443")
        #expect(volcengine == .volcengine(account: "42", secret: "s3cret", at: [endpoint], isSecure: false))
        #expect(throws: UpstreamError.self) { try UpstreamSpec(parsing: "volcengine:42:\(secret)") }
        #expect(throws: UpstreamError.self) { try UpstreamSpec(parsing: "dnspod+https:\(try file("empty", "\n"))") }
    }

    @Test(
        "an invalid specification is an error that quotes it",
        arguments: [
            "", "dns", "doh:", "doh:ftp://x/", "doh:https://a.test/#nowhere", "json:", "dot:", "dot:a b", "dns:a.test",
            "dnspod:a.test", "dnspod+aes:7@192.0.2.1", "aliyun:", "aliyun::x",
            "aliyun:1:2:3", "baidu:1", "volcengine:1:2",
            "hosts:/nowhere/at/all", "system:1", "udp:192.0.2.1", "dns:192.0.2.1:0", "dnspod:192.0.2.1:0",
        ]
    )
    func wrong(_ text: String) {
        let error = #expect(throws: UpstreamError.self) { try UpstreamSpec(parsing: text) }
        #expect(error?.code == .misconfigured)
        #expect(error?.message.contains("\"\(text)\"") == true)
    }

    @Test(
        "an error about an address quotes what was written, and says how to write it",
        arguments: [
            ("dot:a.example", "the address of a.example is missing; append it as #ADDR"),
            ("doh:https://a.example/q", "the address of a.example is missing; append it as #ADDR"),
            ("doh:http://1.1.1.1/x", "write an https URL"), ("json:http://1.1.1.1/x", "write an https URL"),
            ("1.1.1.1", "write dns:1.1.1.1"), ("[2001:db8::1]:53", "write dns:[2001:db8::1]:53"),
            ("https://1.1.1.1/q", "write doh: or json: before the URL"),
            ("dot:a.example#8.8.8.8:853", "\"8.8.8.8:853\" is not an IP address; the port belongs before the #"),
        ]
    )
    func addressOfAnUpstream(text: String, reason: String) {
        let error = #expect(throws: UpstreamError.self) { try UpstreamSpec(parsing: text) }
        #expect(error?.message.hasPrefix("upstream \"\(text)\": \(reason)") == true, "\(error?.message ?? "")")
    }

    @Test(
        "an error about the file of a secret names the upstream and not the file, which may be the secret itself",
        arguments: ["dnspod+https:s3cret@192.0.2.1", "baidu:1:s3cret", "aliyun2:1:s3cret", "aliyun:1:s3cret@192.0.2.1"]
    )
    func secretInsteadOfItsFile(_ text: String) {
        let error = #expect(throws: UpstreamError.self) { try UpstreamSpec(parsing: text) }
        #expect(error?.code == .misconfigured)
        #expect(error?.message.hasPrefix("upstream \(text.prefix { $0 != ":" }): ") == true)
        #expect(error?.message.hasSuffix("cannot be read: No such file or directory") == true)
        #expect(error?.message.contains("s3cret") == false)
    }

    @Test("a folder in the place of a file is an error at once, with the system's reason")
    func folderInsteadOfAFile() {
        let folder = FileManager.default.temporaryDirectory.path
        for spec in ["hosts:\(folder)", "baidu:1:\(folder)"] {
            let error = #expect(throws: UpstreamError.self) { try UpstreamSpec(parsing: spec) }
            #expect(error?.message.hasSuffix("cannot be read: Is a directory") == true, "\(error?.message ?? "")")
        }
    }

    @Test(
        "an error about a URL does not show its password, whatever kind it has",
        arguments: ["doh:https", "json:http", "https", "HTTPS", "http", "tls", "quic"]
    )
    func passwordOfAURL(_ start: String) {
        let error = #expect(throws: UpstreamError.self) {
            try UpstreamSpec(parsing: "\(start)://user:s3cret@dns.example/q")
        }
        #expect(error?.message.contains("…@dns.example/q") == true && error?.message.contains("s3cret") == false)
    }
}
