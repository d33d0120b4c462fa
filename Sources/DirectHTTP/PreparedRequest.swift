// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes
public import Names

/// A validated request. Later steps cannot reject it because of the caller's input.
public struct PreparedRequest: Sendable {
    /// How the end of the body is marked (RFC 9112 §6).
    enum Framing: Sendable, Equatable {
        case none
        case length(Int64)
        case chunked
    }

    private struct Parts: Sendable {
        let origin: Origin
        let method: HTTPRequest.Method
        let target: String
        var fields: HTTPFields
        let body: RequestBody
        let authority: String
        let framing: Framing
        let expectsContinue: Bool
        let options: WireOptions
        var hedgeSide: HedgeSide?
        var onProxyChallenge: (@Sendable (HTTPResponse) -> HTTPField?)?
        var proxyAuthorization: String?
        var proxyFields: HTTPFields = [:]
    }

    /// Shared, because a request is copied several times on its way.
    private var parts: Shared<Parts>
    /// The origin of the request. It decides Host, SNI, the certificate check and the connection.
    package var origin: Origin { parts.value.origin }
    package var method: HTTPRequest.Method { parts.value.method }
    /// The request target: the path and the query, or ``WireOptions/target``.
    package var target: String { parts.value.target }
    /// All fields except Host and those of framing and connection, which the engine writes.
    package var fields: HTTPFields { parts.value.fields }
    package var body: RequestBody { parts.value.body }
    /// The Host header or `:authority`: the origin's own, or the one that the caller set.
    package var authority: String { parts.value.authority }
    var framing: Framing { parts.value.framing }
    var expectsContinue: Bool { parts.value.expectsContinue }
    var options: WireOptions { parts.value.options }
    /// Whether a body with a content coding of this build is decoded: gzip and deflate, and with the traits `Brotli` and
    /// `Zstandard` br and zstd. Default true.
    public var decodesContent = true
    /// How long the body of a request with `Expect: 100-continue` waits for `100 Continue`. After that the body is sent anyway
    /// (RFC 9110 §10.1.1). Default 1 s.
    public var continueLimit = Duration.seconds(1)
    /// Called with each response head of this request when it arrives, informational ones included. It runs on an event loop and
    /// must not block. Default nil.
    public var onHead: (@Sendable (ReceivedHead) -> Void)?

    /// The endpoints that the request avoids, and where its own is recorded; nil if neither.
    package var hedgeSide: HedgeSide? {
        get { parts.value.hedgeSide }
        set { change { $0.hedgeSide = newValue } }
    }

    /// Called with the 407 of a proxy that forwards the request, before the request is sent again with credentials. Returns the Cookie
    /// field to send then. Default nil: the field stays as it is.
    package var onProxyChallenge: (@Sendable (HTTPResponse) -> HTTPField?)? {
        get { parts.value.onProxyChallenge }
        set { change { $0.onProxyChallenge = newValue } }
    }

    /// The credentials for the proxy that forwards the request; nil if none are sent.
    var proxyAuthorization: String? { parts.value.proxyAuthorization }
    var proxyFields: HTTPFields { parts.value.proxyFields }

    /// Validates a request.
    ///
    /// `Content-Length` must match the body. `Transfer-Encoding`, `Connection` and `Upgrade` belong to the connection and are
    /// refused. Similar fields, such as `Keep-Alive`, are not sent over HTTP/2. If `authority` is nil, a `Host` field takes its
    /// place.
    ///
    /// - Parameters:
    ///   - method: the method. CONNECT is refused, and TRACE must have no body.
    ///   - url: the URL, with the origin's name.
    ///   - fields: the header fields.
    ///   - body: the body.
    ///   - authority: the value of the Host header; nil: the origin's own. It changes only the header, not SNI,
    ///     certificate check, cookies or connection.
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

    /// Validates a request whose target is in the form of ``HTTPURL/target``.
    package init(
        _ method: HTTPRequest.Method,
        _ origin: Origin,
        target: String,
        fields: HTTPFields = HTTPFields(),
        body: RequestBody = .none,
        authority: String? = nil,
        options: WireOptions = WireOptions()
    ) throws(DirectHTTPError) {
        guard method != .connect, method != .trace || body.isNone else {
            throw DirectHTTPError(.invalidRequest, "\(method.rawValue) cannot be sent this way")
        }
        var declaredLength: String?
        var expects = false
        var (hasHost, asksForCodings) = (false, false)
        for field in fields {
            let name = field.name.canonicalName
            // The length alone excludes most names.
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
            case 2:
                asksForCodings = asksForCodings || field.asksForCodings
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
            // RFC 9110 §8.6: a method that expects a body sends `Content-Length: 0` without one.
            framing = method == .post || method == .put || method == .patch ? .length(0) : .none
        default:
            framing = (length ?? declaredLength.flatMap { Int64($0) }).map(Framing.length) ?? .chunked
        }
        let authority = authority ?? host
        if let authority, !authority.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7f }) {
            throw DirectHTTPError(.invalidRequest, "the Host \"\(authority)\" has a character that hosts do not allow")
        }
        guard !options.sendsHTTP10 || framing != .chunked else {
            throw DirectHTTPError(.invalidRequest, "HTTP/1.0 cannot send a body of unknown length")
        }
        if let target = options.target {
            guard !target.isEmpty, target.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7f }) else {
                throw DirectHTTPError(.invalidRequest, "the request target has a character that is not allowed in it")
            }
        }
        if declaredLength != nil { rest[.contentLength] = nil }
        // RFC 9110 §10.1.1: without a body there is nothing to wait for.
        if expects, !expectsContinue { rest[.expect] = nil }
        if asksForCodings, !options.keepsTransferCoding { rest.removeAll { $0.asksForCodings } }
        parts = Shared(
            Parts(
                origin: origin,
                method: method,
                target: options.target ?? target,
                fields: rest,
                body: expectsContinue ? body.streamed : body,
                authority: authority ?? origin.authority,
                framing: framing,
                expectsContinue: expectsContinue,
                options: options
            )
        )
    }

    private mutating func change(_ body: (inout Parts) -> Void) {
        var changed = parts.value
        body(&changed)
        parts = Shared(changed)
    }

    func with(proxyAuthorization: String?, fields: HTTPFields) -> PreparedRequest {
        var request = self
        request.change {
            $0.proxyAuthorization = proxyAuthorization
            $0.proxyFields = fields
        }
        return request
    }

    /// The request with another Cookie field; nil removes it.
    package func with(cookie: HTTPField?) -> PreparedRequest {
        var request = self
        request.change {
            $0.fields[.cookie] = nil
            if let cookie { $0.fields.append(cookie) }
        }
        return request
    }

    /// The target in absolute form, for a proxy (RFC 9112 §3.2.2). ``WireOptions/target`` is sent to the proxy unchanged.
    var absoluteTarget: String { options.target ?? origin.serialized + target }

    /// The field that marks the end of the body in HTTP/1.1; nil if there is none. HTTP/2 sends only a length.
    package var framingField: HTTPField? {
        switch framing {
        case .none: nil
        case .length(let length): HTTPField(name: .contentLength, value: "\(length)")
        case .chunked: HTTPField(name: .transferEncoding, value: "chunked")
        }
    }

    /// Whether the request may be sent again when it is unknown whether the server received it (RFC 9110 §9.2.2).
    package var isIdempotent: Bool { HTTPRequest.Method.idempotent.contains(method) }
}

extension HTTPRequest.Method {
    /// The methods whose requests may be sent twice (RFC 9110 §9.2.2).
    package static let idempotent: Set<HTTPRequest.Method> = [.get, .head, .options, .trace, .put, .delete]
}

extension HTTPFields {
    /// Removes `Host` and returns its value, because HTTPTypes keeps it in `HTTPRequest.authority`. Returns nil if there is none,
    /// and the last value if there are several.
    package mutating func takeHost() -> String? {
        guard let host = last(where: { $0.name.canonicalName == "host" }) else { return nil }
        self[host.name] = nil
        return host.value
    }
}
