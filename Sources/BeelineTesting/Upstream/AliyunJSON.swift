// SPDX-License-Identifier: Apache-2.0

import Names

/// The JSON responses of both versions of Aliyun's HTTPDNS.
enum AliyunJSON {
    private struct Answer: Encodable {
        var host: String
        var ips: [String]?
        var ipsv6: [String]?
        var ttl: UInt64
        var origin_ttl: UInt64
        var client_ip = "127.0.0.1"

        init(_ finding: Zone.Finding, _ families: [IPAddress.Family], ttl: String?) {
            host = finding.name
            ips = families.contains(.v4) ? finding.addresses(.v4).map(\.description) : nil
            ipsv6 = families.contains(.v6) ? finding.addresses(.v6).map(\.description) : nil
            origin_ttl = UInt64(finding.ttl)
            self.ttl = finding.jsonTTL(ttl)
        }
    }

    private struct Batch: Encodable {
        var dns: [Answer]
    }

    private struct Version2: Encodable {
        struct Content: Encodable {
            var cip = "127.0.0.1"
            var answers: [Entry]
        }

        struct Entry: Encodable {
            var dn: String
            var v4: Addresses?
            var v6: Addresses?
        }

        struct Addresses: Encodable {
            var ips: [String]
            var ttl: UInt64
            var no_ip_code: String?
        }

        var code = "success"
        var mode = 0
        var data: Content
    }

    static func single(_ findings: [Zone.Finding], _ families: [IPAddress.Family], ttl: String?) throws -> Reply {
        try .json(Answer(findings[0], families, ttl: ttl))
    }

    static func batch(_ findings: [Zone.Finding], _ families: [IPAddress.Family], ttl: String?) throws -> Reply {
        try .json(Batch(dns: findings.map { Answer($0, families, ttl: ttl) }))
    }

    static func version2(_ findings: [Zone.Finding], _ families: [IPAddress.Family], ttl: String?) throws -> Reply {
        let entries = findings.map { finding in
            let node = { (family: IPAddress.Family) -> Version2.Addresses? in
                guard families.contains(family) else { return nil }
                let addresses = finding.addresses(family)
                let missing = finding.code == .noSuchName ? "DomainNotExist" : "RRNotExist"
                return Version2.Addresses(
                    ips: addresses.map(\.description),
                    ttl: finding.jsonTTL(ttl),
                    no_ip_code: addresses.isEmpty ? missing : nil
                )
            }
            return Version2.Entry(dn: finding.name, v4: node(.v4), v6: node(.v6))
        }
        return try .json(Version2(data: .init(answers: entries)))
    }
}
