// SPDX-License-Identifier: Apache-2.0

import HTTPDNS
import Names

/// DNS messages over HTTP (RFC 8484).
struct MessageDialect: Sendable {
    let router: Router

    static let mediaType = "application/dns-message"
    /// Replies to padded queries are padded to a multiple of this (RFC 8467 §4.1).
    static let paddingBlock = 468

    func handle(_ request: ServerRequest) -> RequestHandling {
        let octets: [UInt8]?
        switch request.method {
        case .get: octets = request.rawField("dns").flatMap { Base64.decode($0) }
        case .post:
            guard request.contentType == Self.mediaType else {
                return .reply(.text("send a DNS message of type \(Self.mediaType)", status: 415, form: .doh))
            }
            octets = request.body
        case .other: octets = nil
        }
        let query: QueryHead
        do throws(QueryHead.Fault) {
            query = try QueryHead(octets ?? [])
        } catch .malformed(let start) where Self.mayBeQuery(octets ?? []) {
            var reply = ServerReply(200, contentType: Self.mediaType, body: ReplyBody.header(start, .formatError))
            (reply.maxAge, reply.form, reply.outcome) = (0, .doh, DNSResponseCode.formatError.description)
            return .reply(reply)
        } catch {
            return .reply(.text("the request has no DNS query", status: 400, form: .doh))
        }
        if let fault = query.fault { return .reply(reply(to: query, answer: ServerAnswer(fault))) }
        var asked = MessageQuery(query)
        asked.subnet = query.options.subnet.flatMap(router.allowed)
        let answerer = router.answerer.serving(request.client)
        let step = answerer.step(asked)
        if let answer = answerer.known(step, refreshes: query.wantsRecursion) {
            return .reply(reply(to: query, answer: answer))
        }
        guard query.wantsRecursion || answerer.isKnownHere(step) else {
            return .reply(reply(to: query, answer: answerer.answerWithoutRecursion(step)))
        }
        return .later(lookups: 1) { reply(to: query, answer: await answerer.answer(step)) }
    }

    /// Whether a message has a header but the number of questions is not one. Otherwise it is not DNS.
    private static func mayBeQuery(_ octets: [UInt8]) -> Bool { octets.count >= 12 && octets[4...5] != [0, 1] }

    private func reply(to query: QueryHead, answer: ServerAnswer) -> ServerReply {
        let question = query.hasQuestion ? query.question : nil
        let form = ReplyBody.Form(
            maxSize: DNSMessage.maxOctets,
            paddingBlock: Self.paddingBlock,
            usesSubnets: router.configuration.passesSubnets
        )
        guard let body = ReplyBody(answer, question: question) else {
            return .text("the answer is too large for a message", status: 500, form: .doh)
        }
        var reply = ServerReply(200, contentType: Self.mediaType, body: body.reply(to: query, form))
        reply.maxAge = answer.isPrivate ? nil : answer.ttl
        reply.form = .doh
        reply.names = question.map { [$0.name] } ?? []
        reply.types = question?.type.label ?? ""
        reply.outcome = answer.code.description
        reply.source = answer.source
        return reply
    }
}

extension MessageQuery {
    /// Copies the question. The server's policy decides which subnet is sent.
    init(_ query: QueryHead) {
        self.init(query.question)
        wantsSignatures = query.options.wantsSignatures
        isUnchecked = query.isUnchecked
        wantsVerdict = query.wantsVerdict
    }
}
