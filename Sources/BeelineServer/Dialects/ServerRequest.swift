// SPDX-License-Identifier: Apache-2.0

import HTTPDNS
import Names

/// A request as the forms read it, whichever HTTP brought it.
struct ServerRequest: Sendable {
    enum Method: Hashable, Sendable {
        case get
        case post
        case other

        /// A HEAD is answered as a GET, and who writes the reply leaves its content out (RFC 9110 §9.3.2).
        init(_ name: String) {
            self = name == "GET" || name == "HEAD" ? .get : name == "POST" ? .post : .other
        }
    }

    /// Octets of content that are read: a DNS message over TCP could be no larger.
    static let maxBody = 65_535

    var method: Method
    /// Without the query.
    var path: Substring
    /// Behind the `?`, undecoded.
    var query: Substring
    /// Without its parameters, in lower case.
    var contentType: String?
    var body: [UInt8]
    var client: IPAddress
    /// The endpoint of ours that the client came to; nil where it is not known.
    var local: Endpoint?

    /// - Parameters:
    ///   - target: path and query, as the request line has them.
    ///   - contentType: as the field has it.
    init(
        _ method: Method,
        target: String,
        contentType: String? = nil,
        body: [UInt8] = [],
        client: IPAddress,
        local: Endpoint? = nil
    ) {
        self.method = method
        var target = target[...]
        // Who takes us for a proxy writes the whole URL, which servers take too (RFC 9112 §3.2.2).
        if target.utf8.first != UInt8(ascii: "/"), let scheme = target.firstRange(of: "://") {
            let rest = target[scheme.upperBound...]
            target = rest.firstIndex(of: "/").map { rest[$0...] } ?? "/"
        }
        let mark = target.utf8.firstIndex(of: UInt8(ascii: "?")) ?? target.endIndex
        path = target[..<mark]
        query = mark == target.endIndex ? "" : target[target.utf8.index(after: mark)...]
        self.contentType = contentType.map { text in
            let type = text.prefix { $0 != ";" }
            return type == MessageDialect.mediaType ? MessageDialect.mediaType : type.lowercased().filter { $0 != " " }
        }
        self.body = body
        self.client = client
        self.local = local
    }

    /// Fields of a query that are read; more are left out.
    private static let maxFields = 64

    /// The query's fields, decoded; of repeated ones the first counts, and one that cannot be decoded is none.
    var fields: [String: String] {
        var fields: [String: String] = [:]
        for part in query.split(separator: "&").prefix(Self.maxFields) {
            let mark = part.firstIndex(of: "=") ?? part.endIndex
            guard let name = PercentEncoding.decode(part[..<mark]),
                let value = PercentEncoding.decode(part[mark...].dropFirst())
            else { continue }
            if fields[name] == nil { fields[name] = value }
        }
        return fields
    }

    /// One field of the query, undecoded: the way of `dns=`, whose letters need no decoding.
    func rawField(_ name: String) -> Substring? {
        for part in query.utf8.split(separator: UInt8(ascii: "&")) {
            let mark = part.firstIndex(of: UInt8(ascii: "=")) ?? part.endIndex
            if part[..<mark].elementsEqual(name.utf8) { return Substring(part[mark...].dropFirst()) }
        }
        return nil
    }
}

/// A reply, with what the access log says of it.
struct ServerReply: Sendable {
    var status: Int
    var contentType: String
    var body: [UInt8]
    /// `Cache-Control: max-age`, in seconds; nil: `no-store`.
    var maxAge: UInt32?
    var allow: String?
    var retryAfter: Int?

    // For the log.
    var form = AccessRecord.Form.other
    var account: String?
    var names: [DNSName] = []
    var types = ""
    var outcome = "-"
    var source = "-"

    init(_ status: Int, _ contentType: String, _ body: [UInt8]) {
        self.status = status
        self.contentType = contentType
        self.body = body
    }

    /// The fields of the reply, in lower case; the last part says whether the same comes again and again.
    func fields(date: String) -> [(name: String, value: String, repeats: Bool)] {
        var fields = [
            ("content-type", contentType, true), ("content-length", String(body.count), false),
            ("cache-control", maxAge.map { "max-age=\($0)" } ?? "no-store", false), ("date", date, true),
        ]
        if let allow { fields.append(("allow", allow, false)) }
        if let retryAfter { fields.append(("retry-after", String(retryAfter), false)) }
        return fields
    }

    /// A line of text.
    static func text(_ text: String, status: Int = 200) -> ServerReply {
        ServerReply(status, "text/plain; charset=utf-8", Array((text + "\n").utf8))
    }

    /// To a request under a name that is not ours (RFC 9110 §15.5.20).
    static var misdirected: ServerReply {
        text(
            "on a loopback address, ask for an address or localhost, or name the proxy that sent this as trusted",
            status: 421
        )
    }

    /// To a client that asks too much.
    static var limited: ServerReply {
        var reply = text("too many questions: ask again in a second", status: 429)
        reply.retryAfter = 1
        reply.outcome = "limited"
        return reply
    }

    static func json(_ text: String, status: Int = 200, type: String = "application/json") -> ServerReply {
        ServerReply(status, type, Array(text.utf8))
    }
}

/// What a form makes of a request: a reply, or one that an upstream must be waited for.
enum Handling: Sendable {
    case reply(ServerReply)
    /// What must be waited for, and how many look-ups it takes: one for each name and family.
    case later(lookUps: Int, @Sendable () async -> ServerReply)
}
