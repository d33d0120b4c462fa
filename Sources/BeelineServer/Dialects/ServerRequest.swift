// SPDX-License-Identifier: Apache-2.0

import HTTPDNS
import Names

/// A request as the forms read it, independent of the HTTP version.
struct ServerRequest: Sendable {
    enum Method: Hashable, Sendable {
        case get
        case post
        case other

        /// Treats HEAD as GET. The connection's handler omits the content of the reply (RFC 9110 §9.3.2).
        init(_ name: String) {
            self = name == "GET" || name == "HEAD" ? .get : name == "POST" ? .post : .other
        }
    }

    /// The maximum size of the content in octets, which is the maximum size of a DNS message over TCP.
    static let maxBody = 65_535

    var method: Method
    var path: Substring
    /// The part after `?`, still percent-encoded.
    var query: Substring
    /// The media type without parameters, in lower case.
    var contentType: String?
    var body: [UInt8]
    var client: IPAddress
    /// The local endpoint that the client connected to. Nil if unknown.
    var local: Endpoint?

    /// - Parameter target: The path and query from the request line.
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
        // A client that uses a proxy sends the whole URL, which servers must accept (RFC 9112 §3.2.2).
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

    /// The maximum number of query fields to read. Further fields are ignored.
    private static let maxFields = 64

    /// The fields of the query, still percent-encoded.
    private var rawFields: [(name: Substring, value: Substring)] {
        query.utf8.split(separator: UInt8(ascii: "&"), maxSplits: Self.maxFields).prefix(Self.maxFields).map { part in
            let mark = part.firstIndex(of: UInt8(ascii: "=")) ?? part.endIndex
            return (Substring(part[..<mark]), Substring(part[mark...].dropFirst()))
        }
    }

    /// The decoded fields of the query. The first of repeated fields counts. Fields that cannot be decoded are ignored.
    var fields: [String: String] {
        var fields: [String: String] = [:]
        for field in rawFields {
            guard let name = PercentEncoding.decode(field.name), let value = PercentEncoding.decode(field.value) else {
                continue
            }
            if fields[name] == nil { fields[name] = value }
        }
        return fields
    }

    /// One field of the query, without decoding. For `dns=`, because base64url needs no percent-encoding.
    func rawField(_ name: String) -> Substring? { rawFields.first { $0.name == name }?.value }
}

/// A reply and its values for the access log.
struct ServerReply: Sendable {
    var status: Int
    var contentType: String
    var body: [UInt8]
    /// `Cache-Control: max-age`, in seconds. Nil for `no-store`.
    var maxAge: UInt32?
    var allow: String?
    var retryAfter: Int?

    // Values for the access log.
    var form = AccessRecord.Form.other
    var account: String?
    var names: [DNSName] = []
    var types = ""
    var outcome = "-"
    var source = "-"

    init(_ status: Int, contentType: String, body: [UInt8]) {
        self.status = status
        self.contentType = contentType
        self.body = body
    }

    /// The header fields, with names in lower case. `repeats` says whether other replies often have the same value.
    func fields(date: String) -> [(name: String, value: String, repeats: Bool)] {
        var fields = [
            ("content-type", contentType, true), ("content-length", String(body.count), false),
            ("cache-control", maxAge.map { "max-age=\($0)" } ?? "no-store", false), ("date", date, true),
        ]
        if let allow { fields.append(("allow", allow, false)) }
        if let retryAfter { fields.append(("retry-after", String(retryAfter), false)) }
        return fields
    }

    static func text(_ text: String, status: Int = 200, form: AccessRecord.Form = .other) -> ServerReply {
        var reply = ServerReply(status, contentType: "text/plain; charset=utf-8", body: Array((text + "\n").utf8))
        reply.form = form
        return reply
    }

    static var notFound: ServerReply { text("there is nothing at this path", status: 404) }

    /// The reply to a request for a host name that is not ours (RFC 9110 §15.5.20).
    static var misdirected: ServerReply {
        text(
            "on a loopback address, use an IP address or localhost as host, or trust the proxy that sent this",
            status: 421
        )
    }

    /// The reply to a request with no Host or several (RFC 9112 §3.2).
    static var hostCount: ServerReply { text("a request needs exactly one Host field", status: 400) }

    static var limited: ServerReply {
        var reply = text("too many questions: try again in a second", status: 429)
        reply.retryAfter = 1
        reply.outcome = limitedOutcome
        return reply
    }

    private static let limitedOutcome = "limited"
    /// Whether the client exceeds a limit of the server.
    var isLimited: Bool { outcome == Self.limitedOutcome }

    static func json(_ text: String, status: Int = 200, type: String = "application/json") -> ServerReply {
        ServerReply(status, contentType: type, body: Array(text.utf8))
    }
}

/// The result of handling a request: an immediate reply, or an operation that waits for an upstream.
enum RequestHandling: Sendable {
    case reply(ServerReply)
    /// An operation that waits, and the number of its lookups: one for each name and family.
    case later(lookups: Int, @Sendable () async -> ServerReply)
}
