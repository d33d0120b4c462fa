// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
package import Names

/// DNS over HTTPS in JSON, as offered by Google (`https://dns.google/resolve`) and Cloudflare
/// (`https://cloudflare-dns.com/dns-query`).
package struct JSONUpstream: RecordUpstream {
    package let name: String
    package let answersOneFamily = true
    package var isAuthenticated: Bool { service.isAuthenticated }
    private let url: HTTPURL
    private let service: UpstreamService

    /// An upstream for one URL.
    ///
    /// - Throws: ``UpstreamError`` with code `misconfigured` if the URL is not https, or no address is known.
    package init(
        _ url: HTTPURL,
        at addresses: [IPAddress] = [],
        transport: any UpstreamTransport
    ) throws(UpstreamError) {
        guard url.origin.scheme == .https else {
            throw UpstreamError(.misconfigured, "\(url): DNS in JSON needs an https URL")
        }
        service = try UpstreamService(url.origin, at: addresses, transport: transport)
        name = "json:\(url.origin.authority)"
        self.url = url
    }

    package func answer(_ question: Question) async throws(UpstreamError) -> Answer {
        var answer = Answer()
        for family in question.families.members {
            let name = try question.host.askedName()
            let asked = DNSQuestion(try question.host.dnsName(), DNSType(family))
            answer[family] = try await reply(to: asked, named: name, subnet: question.subnet) {
                (message) throws(UpstreamError) in try message.records(answering: asked)
            }
        }
        return answer
    }

    package func services(_ question: ServiceQuestion) async throws(UpstreamError) -> ServiceReply {
        let asked = DNSQuestion(question.name, .https)
        return try await reply(to: asked, named: "\(question.name)", subnet: question.subnet) {
            (message) throws(UpstreamError) in try message.services(answering: asked)
        }
    }

    private func reply<Reply>(
        to question: DNSQuestion,
        named name: String,
        subnet: IPNetwork?,
        read: (DNSMessage) throws(UpstreamError) -> Reply
    ) async throws(UpstreamError) -> Reply {
        var query = QueryString()
        query.add("name", name)
        query.add("type", Self.types[question.type] ?? "\(question.type.rawValue)")
        query.add("edns_client_subnet", subnet?.description)
        return try await service.ask(
            make: { (request) throws(UpstreamError) in
                request.target = url.target + (url.query == nil ? "?" : "&") + query.text
                request.fields[.accept] = "application/dns-json"
            },
            read: { (reply) throws(UpstreamError) in
                try reply.requireSuccess(hasAccount: false)
                guard let body = JSONValue(reply.body), var message = try DNSMessage(body) else {
                    throw UpstreamError(.malformedAnswer, "the reply is not DNS in JSON")
                }
                message.age(by: reply.age)
                return try read(message)
            }
        )
    }

    /// The types that every service knows by name; others are asked for by number.
    private static let types: [DNSType: String] = [.a: "A", .aaaa: "AAAA"]
}

extension DNSMessage {
    /// The DNS message of a JSON answer, so that it gets the same checks as any other; nil if the JSON is not in that
    /// format.
    init?(_ json: JSONValue) throws(UpstreamError) {
        guard let status = json["Status"]?.integer, let code = UInt8(exactly: status) else { return nil }
        var flags = Flags()
        flags.isResponse = true
        flags.responseCode = DNSResponseCode(rawValue: code)
        flags.isTruncated = json["TC"] == .bool(true)
        var questions: [DNSQuestion] = []
        // Alibaba's public service sends an object where others send a list of one.
        for entry in json["Question"]?.elements ?? [] {
            guard let name = entry["name"]?.string.flatMap({ DNSName(escaped: $0) }),
                let type = Self.type(entry["type"])
            else { return nil }
            questions.append(DNSQuestion(name, type))
        }
        var sections: [[DNSRecord]] = []
        for section in ["Answer", "Authority"] {
            var records: [DNSRecord] = []
            for entry in json[section]?.array ?? [] {
                guard let record = DNSRecord(entry) else { return nil }
                records.append(record)
            }
            sections.append(records)
        }
        self.init(flags: flags, questions: questions, answers: sections[0], authorities: sections[1])
    }

    /// A record type by number, or by name, which some services use in the question.
    fileprivate static func type(_ value: JSONValue?) -> DNSType? {
        switch value?.string {
        case "A": .a
        case "AAAA": .aaaa
        case "HTTPS": .https
        default: value?.integer.flatMap { UInt16(exactly: $0) }.map { DNSType(rawValue: $0) }
        }
    }
}

extension DNSRecord {
    fileprivate init?(_ json: JSONValue) {
        guard let name = json["name"]?.string.flatMap({ DNSName(escaped: $0) }),
            let type = DNSMessage.type(json["type"]), let data = json["data"]?.string
        else { return nil }
        let ttl = json["TTL"]?.integer.flatMap { UInt32(exactly: $0) } ?? 0
        let content: Content
        switch type {
        case .a, .aaaa:
            guard let address = IPAddress(data), (address.family == .v4) == (type == .a) else { return nil }
            content = .address(address)
        case .cname:
            guard let target = DNSName(escaped: data) else { return nil }
            content = .alias(target)
        case .soa:
            let parts = data.split(separator: " ")
            guard parts.count == 7, let primary = DNSName(escaped: String(parts[0])),
                let mailbox = DNSName(escaped: String(parts[1]))
            else { return nil }
            let numbers = parts[2...].compactMap { UInt32($0) }
            guard numbers.count == 5 else { return nil }
            content = .authority(
                StartOfAuthority(
                    primary: primary,
                    mailbox: mailbox,
                    serial: numbers[0],
                    refresh: numbers[1],
                    retry: numbers[2],
                    expire: numbers[3],
                    minimum: numbers[4]
                )
            )
        case .https, .svcb:
            // Malformed text becomes empty content, which is malformed too, so that all records are refused.
            content = .other(type, HTTPSRecord(text: data)?.octets ?? [])
        default:
            content = .other(type, [])
        }
        self.init(name, ttl: Self.seconds(ttl), content)
    }
}
