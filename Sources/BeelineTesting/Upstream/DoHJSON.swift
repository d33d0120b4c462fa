// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Names

/// DoH JSON responses, as Google and Cloudflare send them.
enum DoHJSON {
    private struct Answer: Encodable {
        var Status: Int
        var TC = false
        var RD = true
        var RA = true
        var AD = false
        var CD = false
        var Question: [Row]
        var Answer: [Row]?
        var Authority: [Row]?
    }

    private struct Row: Encodable {
        var name: String
        var type: UInt16
        var TTL: UInt64?
        var data: String?
    }

    /// The record type, given as a number or a name. Default A; 0 for an unknown name.
    static func type(_ text: String?) -> UInt16 {
        switch text?.uppercased() {
        case nil, "", "A": TestDNSMessage.RecordType.a
        case "AAAA": TestDNSMessage.RecordType.aaaa
        case let text?: UInt16(text) ?? 0
        }
    }

    static func answer(_ finding: Zone.Finding, type: UInt16, ttl: String?) throws -> Reply {
        var rows = finding.aliases.map { alias in
            Row(
                name: "\(alias.owner).",
                type: TestDNSMessage.RecordType.cname,
                TTL: UInt64(alias.ttl),
                data: "\(alias.target)."
            )
        }
        let family: IPAddress.Family = type == TestDNSMessage.RecordType.aaaa ? .v6 : .v4
        let isAddress = type == TestDNSMessage.RecordType.a || type == TestDNSMessage.RecordType.aaaa
        rows += (isAddress ? finding.addresses(family) : []).map { address in
            Row(name: "\(finding.owner).", type: type, TTL: finding.jsonTTL(ttl), data: "\(address)")
        }
        var answer = Answer(Status: Int(finding.code.rawValue), Question: [Row(name: "\(finding.name).", type: type)])
        answer.Answer = rows.isEmpty ? nil : rows
        if rows.count == finding.aliases.count, finding.code != .failure {
            let data = "ns.test. mail.test. 1 7200 900 1209600 30"
            answer.Authority = [Row(name: "test.", type: TestDNSMessage.RecordType.soa, TTL: 900, data: data)]
        }
        var reply = try Reply.json(answer)
        reply.fields[.contentType] = "application/dns-json"
        return reply
    }
}
