// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes
import NIOCore
import NIOPosix
public import Names

/// A request that was checked once: nothing that comes after can reject it for what the caller wrote.
public struct PreparedRequest: Sendable {
    /// How the body's end is told (RFC 9112 §6).
    enum Framing: Sendable, Equatable {
        case none
        case length(Int64)
        case chunked
    }

    private struct Checked: Sendable {
        let origin: Origin
        let method: HTTPRequest.Method
        let target: String
        let fields: HTTPFields
        let body: RequestBody
        let authority: String
        let framing: Framing
        let expectsContinue: Bool
    }

    private let checked: Shared<Checked>
    /// What the request is for; it decides Host, SNI, the certificate check and the connection.
    public var origin: Origin { checked.value.origin }
    /// The method.
    public var method: HTTPRequest.Method { checked.value.method }
    /// Path and query.
    public var target: String { checked.value.target }
    /// All fields but Host and those of framing and connection, which are the engine's.
    public var fields: HTTPFields { checked.value.fields }
    /// The body.
    public var body: RequestBody { checked.value.body }
    /// The Host header or `:authority`: the origin's own, or what the caller set on purpose.
    package var authority: String { checked.value.authority }
    var framing: Framing { checked.value.framing }
    /// Whether the body waits for `100 Continue`.
    var expectsContinue: Bool { checked.value.expectsContinue }
    /// Whether a gzip or deflate body is decoded before it is handed out. Default true.
    public var decodesContent = true
    /// How long the body is held back for `100 Continue` where the request has `Expect: 100-continue`; then it is sent
    /// all the same (RFC 9110 §10.1.1). Default 1 s.
    public var continueLimit = Duration.seconds(1)
    /// Who we are to the proxy that forwards it; nil where there is none, or it is not told.
    var proxyAuthorization: String?
    /// Its part in a hedge; nil where there is none.
    package var hedgeSide: HedgeSide?

    /// Checks a request.
    ///
    /// `Content-Length` must agree with the body; `Transfer-Encoding`, `Connection` and `Upgrade` belong to the
    /// connection and are refused. Other fields of that kind, such as `Keep-Alive`, do not go into HTTP/2. A `Host` among the
    /// fields is what `authority` says where that is nil.
    ///
    /// - Parameter authority: what the Host header says instead of the origin's own. It changes the header only, never SNI,
    ///   certificate, cookies or connection.
    /// - Parameter body: the body.
    /// - Parameter fields: the header fields.
    /// - Parameter url: what is asked for, with the name.
    /// - Parameter method: the method; neither CONNECT nor TRACE with a body.
    /// - Throws: ``DirectHTTPError`` with code `invalidRequest`, or `bodySourceFailed` for a file that cannot be read.
    public init(
        _ method: HTTPRequest.Method,
        _ url: HTTPURL,
        fields: HTTPFields = HTTPFields(),
        body: RequestBody = .none,
        authority: String? = nil
    ) throws(DirectHTTPError) {
        try self.init(method, url.origin, target: url.target, fields: fields, body: body, authority: authority)
    }

    /// Checks a request for a target that is in the form of ``HTTPURL/target``.
    package init(
        _ method: HTTPRequest.Method,
        _ origin: Origin,
        target: String,
        fields: HTTPFields = HTTPFields(),
        body: RequestBody = .none,
        authority: String? = nil
    ) throws(DirectHTTPError) {
        guard method != .connect, method != .trace || body.isNone else {
            throw DirectHTTPError(.invalidRequest, "\(method.rawValue) cannot be sent this way")
        }
        var declaredLength: String?
        var expects = false
        var hasHost = false
        for field in fields {
            let name = field.name.canonicalName
            // Most names are told from their lengths.
            switch name.utf8.count {
            case 7 where name == "upgrade", 10 where name == "connection", 17 where name == "transfer-encoding":
                throw DirectHTTPError(
                    .invalidRequest,
                    "the field \(field.name) belongs to the connection: leave it out"
                )
            case 14 where name == "content-length":
                declaredLength = declaredLength.map { "\($0), \(field.value)" } ?? field.value
            case 6 where name == "expect":
                expects = expects || field.value.lowercased() == "100-continue"
            case 4 where name == "host":
                hasHost = true
            default:
                break
            }
        }
        var rest = fields
        let host = hasHost ? rest.takeHost() : nil
        let length = try body.contentLength()
        if let length, length < 0 {
            throw DirectHTTPError(.invalidRequest, "a body cannot have \(length) bytes")
        }
        let expectsContinue = expects && length != 0
        if let declared = declaredLength {
            guard let number = Int64(declared), number >= 0, length == nil || length == number,
                !body.isNone || number == 0
            else {
                throw DirectHTTPError(
                    .invalidRequest,
                    "Content-Length \"\(declared)\" is not the length of the body: leave it out"
                )
            }
        }
        let framing: Framing
        switch body.storage {
        case .none:
            // RFC 9110 §8.6: a method that expects a body says that there is none.
            framing = method == .post || method == .put || method == .patch ? .length(0) : .none
        default:
            framing = (length ?? declaredLength.flatMap { Int64($0) }).map(Framing.length) ?? .chunked
        }
        let authority = authority ?? host
        if let authority, !authority.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7f }) {
            throw DirectHTTPError(.invalidRequest, "the Host \"\(authority)\" has a character that no host has")
        }
        if declaredLength != nil { rest[.contentLength] = nil }
        // RFC 9110 §10.1.1: there is nothing to wait for where there is nothing to send.
        if expects, !expectsContinue { rest[.expect] = nil }
        checked = Shared(
            Checked(
                origin: origin,
                method: method,
                target: target,
                fields: rest,
                body: expectsContinue ? body.streamed : body,
                authority: authority ?? origin.authority,
                framing: framing,
                expectsContinue: expectsContinue
            )
        )
    }

    /// The request with what tells the proxy who we are.
    func with(proxyAuthorization: String) -> PreparedRequest {
        var request = self
        request.proxyAuthorization = proxyAuthorization
        return request
    }

    /// The target as a proxy is given it (RFC 9112 §3.2.2).
    var absoluteTarget: String { origin.serialized + target }

    /// The field that tells the body's end in HTTP/1.1; nil where none does. In HTTP/2 a length alone is told.
    package var framingField: HTTPField? {
        switch framing {
        case .none: nil
        case .length(let length): HTTPField(name: .contentLength, value: "\(length)")
        case .chunked: HTTPField(name: .transferEncoding, value: "chunked")
        }
    }

    /// Whether a request of this kind may be sent again when nobody knows whether it arrived (RFC 9110 §9.2.2).
    public var isIdempotent: Bool {
        switch method {
        case .get, .head, .options, .trace, .put, .delete: true
        default: false
        }
    }
}

extension HTTPFields {
    /// Takes `Host` out, for which HTTPTypes has no name: it belongs into `HTTPRequest.authority`. Nil where there is none; of
    /// several the last.
    package mutating func takeHost() -> String? {
        guard let host = last(where: { $0.name.canonicalName == "host" }) else { return nil }
        self[host.name] = nil
        return host.value
    }
}
