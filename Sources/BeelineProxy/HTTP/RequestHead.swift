// SPDX-License-Identifier: Apache-2.0

import DirectHTTP
import HTTPTypes
import HTTPWire
import NIOCore
import Names

/// The head of a request to the proxy, parsed strictly. Ambiguous requests are refused (RFC 9112 §11.2).
struct RequestHead {
    enum Target: Equatable {
        /// A tunnel (CONNECT).
        case tunnel(Destination)
        /// A resource of an `http` origin. The authority has the canonical host; port, path and query are as written.
        case resource(Destination, authority: String, path: String)
        /// A path at the proxy itself.
        case own(path: String)
    }

    let method: String
    let target: Target
    /// Whether the client uses HTTP/1.0.
    let isHTTP10: Bool
    let fields: EndToEndFields

    static let lengthLimit = 64 * 1024
    static let fieldLimit = 256

    init(_ head: HTTP1Head) throws(HTTP1Error) {
        self = try head.withLines { lines throws(HTTP1Error) in try RequestHead(&lines) }
    }

    private init(_ lines: inout HTTP1Lines) throws(HTTP1Error) {
        let line = try HTTP1RequestLine(lines.next())
        method = line.method
        isHTTP10 = line.minorVersion == 0
        target = try Self.target(line.target, method: method)
        fields = try EndToEndFields(
            &lines,
            fieldLimit: Self.fieldLimit,
            countsForwards: method == "OPTIONS" || method == "TRACE"
        )
        if isHTTP10, fields.framing.isChunked { throw .malformed("HTTP/1.0 has no Transfer-Encoding") }
        switch target {
        case .tunnel:
            guard !hasBody else { throw .malformed("CONNECT has a body") }
        case .resource, .own:
            guard isHTTP10 || fields.host != nil else { throw .malformed("it has no Host field") }
        }
        if let host = fields.host, !Self.isAuthority(host) { throw .malformed("the Host field is not a host") }
    }

    /// The same request for another resource, with other end-to-end fields.
    init(_ head: RequestHead, for destination: Destination, authority: String, path: String, fields: EndToEndFields) {
        method = head.method
        isHTTP10 = head.isHTTP10
        target = .resource(destination, authority: authority, path: path)
        self.fields = fields
    }

    /// The destination that the client wants to reach; nil for the proxy itself.
    var destination: Destination? {
        switch target {
        case .tunnel(let destination), .resource(let destination, _, _): destination
        case .own: nil
        }
    }

    /// Whether the request is a CONNECT.
    var asksForTunnel: Bool { if case .tunnel = target { true } else { false } }

    var framing: HTTP1BodyFraming { fields.framing.ofRequest }

    var hasBody: Bool { framing != .none && framing != .length(0) }

    /// Whether the client's connection can be reused.
    var keepsAlive: Bool { fields.framing.keepsConnection(minorVersion: isHTTP10 ? 0 : 1) }

    /// Whether the request can be sent twice: it is idempotent (RFC 9110 §9.2.2) and has neither a body nor an upgrade.
    var isReplayable: Bool {
        guard framing == .none || framing == .length(0), fields.upgrade == nil else { return false }
        return HTTPRequest.Method(method).map(HTTPRequest.Method.idempotent.contains) ?? false
    }

    /// Whether the client asks for an upgrade to another protocol, such as WebSocket.
    var wantsUpgrade: Bool { fields.upgrade != nil && !isHTTP10 }

    private static func target(_ bytes: Bytes, method: String) throws(HTTP1Error) -> Target {
        if method == "CONNECT" {
            guard let destination = Destination(bytes, defaultPort: nil) else {
                throw .malformed("CONNECT needs host:port")
            }
            return .tunnel(destination)
        }
        if bytes.first == UInt8(ascii: "/") || bytes.elementsEqual([UInt8(ascii: "*")]) {
            return .own(path: text(bytes))
        }
        let matching = schemes.first { scheme in
            bytes.count > scheme.count
                && bytes.prefix(scheme.count).elementsEqual(scheme, by: { HTTPCharacters.lowercased($0) == $1 })
        }
        guard let scheme = matching else {
            throw .malformed("the target is not an http:// URL: use CONNECT for https")
        }
        let rest = bytes.dropFirst(scheme.count)
        guard !rest.contains(UInt8(ascii: "#")) else { throw .malformed("the target has a fragment") }
        let written = rest.prefix { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") }
        let authority = withoutUser(written)
        guard let destination = Destination(authority, defaultPort: 80) else {
            throw .malformed("the target has no valid host and port")
        }
        let tail = rest[written.endIndex...]
        let hasSlash = tail.first == UInt8(ascii: "/")
        // RFC 9112 §3.2.1 and §3.2.4.
        let path = tail.isEmpty && method == "OPTIONS" ? "*" : (hasSlash ? "" : "/") + text(tail)
        return .resource(destination, authority: canonical(authority, host: destination.host), path: path)
    }

    /// The schemes without TLS. RFC 6455 §4.1 wants CONNECT for `ws`, but aiohttp sends the URL as it is.
    private static let schemes = [Array("http://".utf8), Array("ws://".utf8)]

    /// The characters of a user and password (RFC 3986 §3.2.1).
    private static let userCharacters = PercentEncoding.Allowed("-._~!$&'()*+,;=:%")

    /// Removes the user and password of a URL. wget writes them into the target, and sends them in `Authorization` when the
    /// server asks. With other characters before `@`, parsers may disagree on the host: these stay, and are refused.
    private static func withoutUser(_ authority: Bytes.SubSequence) -> Bytes.SubSequence {
        guard let at = authority.firstIndex(of: UInt8(ascii: "@")),
            authority[..<at].allSatisfy(userCharacters.contains)
        else { return authority }
        return authority[authority.index(after: at)...]
    }

    /// The authority as the next server expects it: the canonical host without its zone, and the port as written.
    private static func canonical(_ authority: some Collection<UInt8>, host: Host) -> String {
        let text = String(decoding: authority, as: UTF8.self)
        let name = host.urlForm
        let rest = text.utf8.dropFirst(name.utf8.count).first
        if text.hasPrefix(name), rest == nil || rest == UInt8(ascii: ":") { return text }
        guard text.utf8.last != UInt8(ascii: "]"), let colon = text.utf8.lastIndex(of: UInt8(ascii: ":")) else {
            return name
        }
        return "\(name)\(text[colon...])"
    }

    /// The punctuation of a target. Letters and digits are always kept.
    private static let visible = PercentEncoding.Allowed("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")

    /// The target as text. If it is not UTF-8, its non-ASCII bytes are percent-encoded (RFC 3986 §2.1).
    private static func text(_ bytes: some Collection<UInt8>) -> String {
        let text = String(decoding: bytes, as: UTF8.self)
        return text.utf8.elementsEqual(bytes) ? text : PercentEncoding.encode(bytes, keeping: visible)
    }

    private static func isAuthority(_ host: ByteBuffer) -> Bool {
        // CONNECT and old clients may send an empty Host (RFC 9112 §3.2).
        host.readableBytes == 0 || Destination(Array(host.readableBytesView), defaultPort: 80) != nil
    }
}

extension RequestHead {
    /// The head for the next server.
    ///
    /// - Parameters:
    ///   - toProxy: whether that is another proxy, which gets the whole URL as the target, and not the origin.
    ///   - authorization: the credentials for that proxy.
    func forwarded(toProxy: Bool, authorization: String? = nil, addsVia: Bool) -> ByteBuffer {
        guard case .resource(_, let authority, let path) = target else { return ByteBuffer() }
        var head = ByteBuffer()
        head.reserveCapacity(fields.lines.readableBytes + path.utf8.count + 192)
        head.writeString(method)
        head.writeStaticString(toProxy ? " http://" : " ")
        if toProxy { head.writeString(authority) }
        head.writeString(path == "*" && toProxy ? "" : path)
        // An HTTP/1.0 client cannot read chunks, so the server must not send any.
        head.writeStaticString(isHTTP10 ? " HTTP/1.0\r\nHost: " : " HTTP/1.1\r\nHost: ")
        head.writeString(authority)
        head.writeStaticString("\r\n")
        fields.write(to: &head)
        if wantsUpgrade { fields.writeUpgrade(to: &head) }
        if let authorization { head.writeField("Proxy-Authorization", value: authorization) }
        if addsVia { head.writeStaticString("Via: 1.1 beeline\r\n") }
        head.writeStaticString("\r\n")
        return head
    }
}
