// SPDX-License-Identifier: Apache-2.0

import HTTPDNS
import Names

/// DNS in JSON, as Google and Cloudflare define it: `/resolve?name=…&type=…`.
struct JSONDialect: Sendable {
    let router: Router

    func handle(_ request: ServerRequest) -> RequestHandling {
        let fields = request.fields
        guard let text = fields["name"], let name = DNSName(asked: text) else { return .reply(Self.refusal("name")) }
        let typeText = fields["type"].flatMap { $0.isEmpty ? nil : $0 } ?? "A"
        guard let type = DNSType(label: typeText) else { return .reply(Self.refusal("type")) }
        var query = MessageQuery(DNSQuestion(name, type))
        query.subnet = router.allowed(fields["edns_client_subnet"])
        query.wantsSignatures = ["1", "true"].contains(fields["do"])
        query.isUnchecked = ["1", "true"].contains(fields["cd"])
        query.wantsVerdict = true
        if let fault = type.fault { return .reply(Self.reply(to: query, answer: ServerAnswer(fault))) }
        let answerer = router.answerer.serving(request.client)
        if let answer = answerer.known(query) { return .reply(Self.reply(to: query, answer: answer)) }
        return .later(lookups: 1) { [query] in Self.reply(to: query, answer: await answerer.answer(query)) }
    }

    private static func reply(to query: MessageQuery, answer: ServerAnswer) -> ServerReply {
        let (name, type) = (query.question.name, query.question.type)
        var members = [
            "\"Status\":\(answer.code.rawValue)", "\"TC\":false", "\"RD\":true", "\"RA\":true",
            "\"AD\":\(answer.isVerified)",
            "\"CD\":\(query.isUnchecked)", "\"Question\":[{\"name\":\(quoted(name)),\"type\":\(type.rawValue)}]",
        ]
        if !answer.answers.isEmpty { members.append("\"Answer\":[\(rows(answer.answers))]") }
        if !answer.authorities.isEmpty { members.append("\"Authority\":[\(rows(answer.authorities))]") }
        var reply = ServerReply.json("{\(members.joined(separator: ","))}", type: "application/dns-json")
        reply.maxAge = answer.isPrivate ? nil : answer.ttl
        reply.form = .json
        reply.names = [name]
        reply.types = type.label
        reply.outcome = answer.code.description
        reply.source = answer.source
        return reply
    }

    private static func rows(_ records: [DNSRecord]) -> String {
        records.map { record in
            "{\"name\":\(quoted(record.name)),\"type\":\(record.type.rawValue),\"TTL\":\(record.ttl),"
                + "\"data\":\(JSONText.quoted(RecordText.content(of: record)))}"
        }
        .joined(separator: ",")
    }

    private static func quoted(_ name: DNSName) -> String { JSONText.quoted(name == .root ? "." : "\(name).") }

    private static func refusal(_ field: String) -> ServerReply {
        var reply = ServerReply.json("{\"error\":\"\(field) is missing or malformed\"}", status: 400)
        reply.form = .json
        return reply
    }
}
