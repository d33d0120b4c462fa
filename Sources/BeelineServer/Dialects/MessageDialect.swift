// SPDX-License-Identifier: Apache-2.0

import HTTPDNS
import Names

/// DNS messages over HTTP (RFC 8484).
struct MessageDialect: Sendable {
    let router: Router

    static let mediaType = "application/dns-message"
    /// The largest UDP message that the server would accept, in octets. EDNS requires a value.
    private static let payload: UInt16 = 1_232
    /// Replies to padded queries are padded to a multiple of this (RFC 8467 §4.1).
    private static let paddingBlock = 468

    func handle(_ request: ServerRequest) -> Handling {
        let octets: [UInt8]?
        switch request.method {
        case .get: octets = request.rawField("dns").flatMap { Base64.decode($0) }
        case .post:
            guard request.contentType == Self.mediaType else {
                return .reply(Self.refusal("send a DNS message of type \(Self.mediaType)", 415))
            }
            octets = request.body
        case .other: octets = nil
        }
        let query: DNSMessage
        do throws(DNSMessageError) {
            query = try DNSMessage(octets: octets ?? [])
        } catch .questionCount(_, let id) {
            return .reply(
                reply(to: DNSMessage(id: id, questions: []), options: nil, answer: ServerAnswer(.formatError))
            )
        } catch {
            return .reply(Self.refusal("the request has no DNS query", 400))
        }
        guard !query.flags.isResponse else { return .reply(Self.refusal("the request has no DNS query", 400)) }
        let options = QueryOptions(query)
        let fault = Self.fault(of: query, options)
        guard fault == nil, let question = query.questions.first else {
            return .reply(reply(to: query, options: options, answer: ServerAnswer(fault ?? .formatError)))
        }
        let subnet = options.subnet.flatMap(router.allowed)
        let answerer = router.answerer.serving(request.client)
        if let answer = answerer.known(question.name, type: question.type, subnet: subnet) {
            return .reply(reply(to: query, options: options, answer: answer))
        }
        return .later(lookups: 1) {
            reply(
                to: query,
                options: options,
                answer: await answerer.answer(question.name, type: question.type, subnet: subnet)
            )
        }
    }

    /// The response code of a query that is not answered; nil for others.
    private static func fault(of query: DNSMessage, _ options: QueryOptions) -> DNSResponseCode? {
        if query.flags.opcode != 0 { return .notImplemented }
        // RFC 6891 §6.1.1 and §6.1.3.
        if options.count > 1 { return .formatError }
        if options.version != 0 { return .badVersion }
        return query.questions.first.map { $0.recordClass == 1 } ?? true ? nil : .refused
    }

    private func reply(to query: DNSMessage, options: QueryOptions?, answer: ServerAnswer) -> ServerReply {
        var message = DNSMessage(id: query.id, questions: query.questions)
        message.flags.isResponse = true
        message.flags.opcode = query.flags.opcode
        message.flags.recursionDesired = query.flags.recursionDesired
        message.flags.recursionAvailable = true
        message.flags.isAuthoritative = answer.isAuthoritative
        message.flags.responseCode = answer.code
        message.answers = answer.answers
        message.authorities = answer.authorities
        if let options, options.isPresent {
            // The length of the message matters for padding only.
            let length = options.isPadded ? message.encoded()?.count ?? 0 : 0
            message.additionals = [
                options.reply(answer.code, behind: length, payload: Self.payload, block: Self.paddingBlock)
            ]
        }
        let octets = message.encoded() ?? []
        var reply = ServerReply(200, contentType: Self.mediaType, body: octets)
        if octets.isEmpty { reply = Self.refusal("the answer is too large for a message", 500) }
        reply.maxAge = answer.ttl
        reply.form = .doh
        reply.names = query.questions.map(\.name)
        reply.types = query.questions.first?.type.label ?? ""
        reply.outcome = answer.code.description
        reply.source = answer.source
        return reply
    }

    private static func refusal(_ text: String, _ status: Int) -> ServerReply {
        var reply = ServerReply.text(text, status: status)
        reply.form = .doh
        return reply
    }
}

/// The EDNS options of a query (RFC 6891).
struct QueryOptions {
    /// The number of OPT records. A query may have at most one.
    private(set) var count = 0
    private(set) var version: UInt8 = 0
    var isPresent: Bool { count > 0 }
    private(set) var isPadded = false
    private(set) var subnet: IPNetwork?

    init(_ query: DNSMessage) {
        for record in query.additionals {
            guard case .other(.opt, let octets) = record.data else { continue }
            count += 1
            version = UInt8(record.ttl >> 16 & 0xff)
            // A query with two OPT records is refused, so the second one is not read.
            if count == 1 { read(octets) }
        }
    }

    private mutating func read(_ octets: [UInt8]) {
        var place = 0
        while place + 4 <= octets.count {
            let code = Int(octets[place]) << 8 | Int(octets[place + 1])
            let length = Int(octets[place + 2]) << 8 | Int(octets[place + 3])
            let end = place + 4 + length
            guard end <= octets.count else { return }
            switch code {
            case 8: subnet = Self.subnet(octets[(place + 4)..<end])
            case 12: isPadded = true
            default: break
            }
            place = end
        }
    }

    /// Reads a client subnet option (RFC 7871 §6).
    private static func subnet(_ octets: ArraySlice<UInt8>) -> IPNetwork? {
        let start = octets.startIndex
        guard octets.count >= 4, octets[start] == 0, 1...2 ~= octets[start + 1] else { return nil }
        let (size, prefix) = (octets[start + 1] == 1 ? 4 : 16, Int(octets[start + 2]))
        let address = octets.dropFirst(4)
        guard address.count <= size, prefix <= size * 8 else { return nil }
        let full = Array(address) + [UInt8](repeating: 0, count: size - address.count)
        return IPAddress(octets: full).flatMap { IPNetwork($0, prefixLength: prefix) }
    }

    /// The OPT record of a reply, with the high bits of the response code. `length` is the size of the reply without the record,
    /// in octets.
    func reply(_ code: DNSResponseCode, behind length: Int, payload: UInt16, block: Int) -> DNSRecord {
        var octets: [UInt8] = []
        if let subnet {
            let address = subnet.first.octets.prefix((subnet.prefixLength + 7) / 8)
            // The answer is valid for the whole network, so the scope equals the source prefix.
            let prefix = UInt8(subnet.prefixLength)
            octets += [0, 8, 0, UInt8(4 + address.count), 0, subnet.first.family == .v4 ? 1 : 2, prefix, prefix]
            octets += address
        }
        if isPadded {
            let bare = length + 11 + octets.count + 4
            let padding = (block - bare % block) % block
            octets += [0, 12, UInt8(padding >> 8), UInt8(padding & 0xff)] + [UInt8](repeating: 0, count: padding)
        }
        return DNSRecord(.root, ttl: UInt32(code.rawValue >> 4) << 24, .other(.opt, octets), recordClass: payload)
    }
}

extension DNSResponseCode {
    /// The EDNS version of the query is not supported.
    fileprivate static let badVersion = DNSResponseCode(rawValue: 16)
}

extension DNSType {
    /// The name of the type, or `TYPEnn`.
    var label: String { Self.labels[rawValue] ?? "TYPE\(rawValue)" }

    private static let labels: [UInt16: String] = [
        1: "A", 2: "NS", 5: "CNAME", 6: "SOA", 12: "PTR", 15: "MX", 16: "TXT", 28: "AAAA", 33: "SRV", 35: "NAPTR",
        39: "DNAME", 43: "DS", 44: "SSHFP", 46: "RRSIG", 47: "NSEC", 48: "DNSKEY", 52: "TLSA", 64: "SVCB", 65: "HTTPS",
        255: "ANY", 257: "CAA",
    ]
    private static let numbers = Dictionary(uniqueKeysWithValues: labels.map { ($1, $0) })

    /// Reads a name, a number or `TYPEnn`.
    init?(label: String) {
        let label = label.uppercased()
        let digits = label.hasPrefix("TYPE") ? String(label.dropFirst(4)) : label
        guard let number = Self.numbers[label] ?? UInt16(digits) else { return nil }
        self.init(rawValue: number)
    }
}
