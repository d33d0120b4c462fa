// SPDX-License-Identifier: Apache-2.0

import Names

/// Parses answers of Aliyun's services and compatible ones.
enum AliyunAnswer {
    /// Parses a single answer of version 1: `{"host":…,"ips":[…],"ipsv6":[…],"ttl":57,"client_ip":…}`.
    static func single(_ body: JSONValue, host: Host, families: Families) throws(UpstreamError) -> Answer {
        guard let name = body["host"]?.string else { throw .unknownForm }
        guard host.isCalled(name) else {
            throw UpstreamError(.wrongAnswer, "the answer is for \"\(name.prefix(80))\"")
        }
        return try entry(body, families: families)
    }

    /// Parses an answer for several names: `{"dns":[{"host":…,"ips":[…],"ttl":106},…]}`. Older services send one entry
    /// per family, with its record type as `type`.
    static func batch(_ body: JSONValue, hosts: [Host], families: Families) throws(UpstreamError) -> [Host: Answer] {
        guard let entries = (body["dns"] ?? body["results"])?.array else { throw .unknownForm }
        var answers: [Host: Answer] = [:]
        for entry in entries {
            guard let name = (entry["host"] ?? entry["domain"])?.string else { throw .unknownForm }
            let host = try hosts.called(name)
            let part = try self.entry(entry, families: families)
            var answer = answers[host] ?? Answer(clientAddress: part.clientAddress)
            answer.v4 = answer.v4 ?? part.v4
            answer.v6 = answer.v6 ?? part.v6
            answers[host] = answer
        }
        return answers
    }

    private static func entry(_ entry: JSONValue, families: Families) throws(UpstreamError) -> Answer {
        var answer = Answer(clientAddress: entry["client_ip"]?.string.flatMap { IPAddress($0) })
        let ttl = entry["ttl"]?.seconds
        switch entry["type"]?.integer {
        case 28: answer.v6 = try Answer.Records(entry["ips"] ?? entry["ipsv6"], family: .v6, ttl: ttl)
        case 1: answer.v4 = try Answer.Records(entry["ips"], family: .v4, ttl: ttl)
        default:
            if families.contains(.v4) { answer.v4 = try Answer.Records(entry["ips"], family: .v4, ttl: ttl) }
            if families.contains(.v6) { answer.v6 = try Answer.Records(entry["ipsv6"], family: .v6, ttl: ttl) }
        }
        answer.extra = extra(entry["extra"])
        return answer
    }

    /// Parses the content of version 2: `{"cip":…,"answers":[{"dn":…,"v4":{"ips":[…],"ttl":60},"v6":{…}}]}`.
    static func version2(
        _ content: JSONValue,
        hosts: [Host],
        families: Families
    ) throws(UpstreamError) -> [Host: Answer] {
        guard let entries = content["answers"]?.array else { throw .unknownForm }
        let client = content["cip"]?.string.flatMap { IPAddress($0) }
        var answers: [Host: Answer] = [:]
        for entry in entries {
            guard let name = entry["dn"]?.string else { throw .unknownForm }
            let host = try hosts.called(name)
            var answer = Answer(clientAddress: client)
            for family in families.members {
                guard let node = entry[family == .v4 ? "v4" : "v6"] else { continue }
                let ttl = node["ttl"]?.seconds
                answer[family] = try Answer.Records(node["ips"], family: family, ttl: ttl)
                if answer[family]?.addresses.isEmpty ?? true { answer[family] = absence(node["no_ip_code"], ttl: ttl) }
                answer.extra = answer.extra ?? extra(node["extra"])
            }
            answers[host] = answer
        }
        return answers
    }

    /// The meaning of a "no address" code. If the service does not resolve the name, the absence has no TTL, so the
    /// next upstream is asked.
    private static func absence(_ code: JSONValue?, ttl: Duration?) -> Answer.Records {
        switch code?.string {
        case "RRNotExist": .absent(.noRecord, ttl: ttl)
        case "DomainNotExist": .absent(.noName, ttl: ttl)
        default: .absent(.noRecord, ttl: nil)
        }
    }

    /// The answer of software-defined resolution. Its quotation marks may be escaped for HTML.
    private static func extra(_ value: JSONValue?) -> String? {
        guard let text = value?.string, !text.isEmpty else { return nil }
        guard text.contains("&") else { return text }
        let marks = [("&quot;", "\""), ("&#34;", "\""), ("&#39;", "'"), ("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&")]
        return marks.reduce(text) { text, mark in
            text.split(separator: mark.0, omittingEmptySubsequences: false).joined(separator: mark.1)
        }
    }
}
