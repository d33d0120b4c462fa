// SPDX-License-Identifier: Apache-2.0

/// Parses the octets of one URL. Lenient mode follows browsers and is for Location headers; strict mode is for all other input.
struct URLReader {
    typealias Bytes = Octets

    let text: Bytes
    let isLenient: Bool
    /// Whether `.` and `..` in the path stay as written.
    let keepsDots: Bool

    init(_ text: Bytes, isLenient: Bool, keepsDots: Bool = false) {
        self.text = text
        self.isLenient = isLenient
        self.keepsDots = keepsDots
    }

    /// Parses an absolute URL.
    func absolute() throws(NameError) -> HTTPURL {
        try checkCharacters()
        guard let colon = schemeEnd else {
            throw malformed("the scheme is missing; write http:// or https:// in front")
        }
        let scheme = try scheme(text[..<colon])
        let rest = text[(colon + 1)...]
        guard rest.starts(with: "//".utf8) else {
            throw malformed("// is missing after \(scheme.name):")
        }
        return try afterSlashes(scheme, rest.dropFirst(2))
    }

    /// Parses the rest of a URL after `scheme://`.
    func afterSlashes(_ scheme: Scheme, _ rest: Bytes) throws(NameError) -> HTTPURL {
        let authority = rest.prefix { byte in
            !(byte == UInt8(ascii: "/") || byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#") || isBackslash(byte))
        }
        var hostAndPort = authority
        var user: String?
        var password: String?
        if let at = authority.lastIndex(of: UInt8(ascii: "@")) {
            (user, password) = try userInfo(authority[..<at])
            hostAndPort = authority[(at + 1)...]
        }
        let (host, port) = try split(hostAndPort)
        guard !host.isEmpty else { throw malformed("the host is missing after //", .malformedHost) }
        let origin = Origin(scheme: scheme, host: try Host(bytes: host), port: port)
        return url(origin, rest[authority.endIndex...], user: user, password: password)
    }

    /// Parses the path and query of a request to `origin`.
    func target(of origin: Origin) throws(NameError) -> HTTPURL {
        if let count = plainPathCount {
            return HTTPURL(origin: origin, checkedTarget: String(decoding: text, as: UTF8.self), pathCount: count)
        }
        try checkCharacters()
        guard text.first == UInt8(ascii: "/"), !text.contains(UInt8(ascii: "#")) else {
            throw malformed("a request target begins with / and has no fragment")
        }
        return url(origin, text)
    }

    /// The length of the path in octets if the target is certainly normalized, as most generated targets are; otherwise nil.
    var plainPathCount: Int? {
        let bytes = text.rebased
        guard bytes.first == UInt8(ascii: "/"), bytes.count <= HTTPURL.maxLength else { return nil }
        let end = PercentEncoding.Allowed.plainPath.firstOther(in: bytes)
        guard end < bytes.count else { return end }
        let query = bytes[(end + 1)...].rebased
        guard bytes[end] == UInt8(ascii: "?"), PercentEncoding.Allowed.queryOfURL.keepsAll(of: query)
        else { return nil }
        return end
    }

    /// Builds the URL from its origin and the text after the authority.
    private func url(_ origin: Origin, _ rest: Bytes, user: String? = nil, password: String? = nil) -> HTTPURL {
        let (path, query, fragment) = parts(rest)
        let (target, pathCount) = target(path, query)
        return HTTPURL(
            origin: origin,
            checkedTarget: target,
            pathCount: pathCount,
            fragment: fragment.map { encoded($0, keeping: .fragmentOfURL) },
            user: user,
            password: password
        )
    }

    /// Splits the text after the authority into path, query and fragment.
    func parts(_ rest: Bytes) -> (path: Bytes, query: Bytes?, fragment: Bytes?) {
        var rest = rest
        var query: Bytes?
        var fragment: Bytes?
        if let hash = rest.firstIndex(of: UInt8(ascii: "#")) {
            fragment = rest[(hash + 1)...]
            rest = rest[..<hash]
        }
        if let mark = rest.firstIndex(of: UInt8(ascii: "?")) {
            query = rest[(mark + 1)...]
            rest = rest[..<mark]
        }
        return (rest, query, fragment)
    }

    /// The index of the colon after the scheme; nil if the text does not start with a scheme (RFC 3986 §3.1).
    var schemeEnd: Bytes.Index? {
        guard let first = text.first, (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(first | 0x20) else { return nil }
        let end = text.firstIndex { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."):
                false
            default: true
            }
        }
        return end.flatMap { text[$0] == UInt8(ascii: ":") ? $0 : nil }
    }

    func scheme(_ name: Bytes) throws(NameError) -> Scheme {
        guard let scheme = Scheme(bytes: name) else {
            let name = String(decoding: name.prefix(20), as: UTF8.self)
            throw malformed("the scheme \(name) is not http, https, ws or wss", .unsupportedScheme)
        }
        return scheme
    }

    /// The decoded user and password. Both are nil if the text before `@` is empty, as in browsers.
    private func userInfo(_ bytes: Bytes) throws(NameError) -> (user: String?, password: String?) {
        guard !bytes.isEmpty else { return (nil, nil) }
        let colon = bytes.firstIndex(of: UInt8(ascii: ":"))
        let user = try decoded(bytes[..<(colon ?? bytes.endIndex)], "user")
        guard let colon else { return (user, nil) }
        return (user, try decoded(bytes[(colon + 1)...], "password"))
    }

    private func decoded(_ bytes: Bytes, _ part: String) throws(NameError) -> String {
        // RFC 7617 §2 does not allow control characters, which would also allow header injection.
        guard let octets = PercentEncoding.decode(bytes, keepsStray: true),
            let text = String(validUTF8: octets),
            octets.allSatisfy({ $0 >= 0x20 && $0 != 0x7f })
        else {
            throw malformed("the \(part) before @ is not percent-encoded UTF-8 without control characters")
        }
        return text
    }

    private func split(_ hostAndPort: Bytes) throws(NameError) -> (host: Bytes, port: UInt16?) {
        guard let colon = hostAndPort.lastIndex(of: UInt8(ascii: ":")),
            !hostAndPort[colon...].contains(UInt8(ascii: "]"))
        else { return (hostAndPort, nil) }
        let host = hostAndPort[..<colon]
        // An IPv6 address must be in brackets here (RFC 3986 §3.2.2); otherwise its last group would be read as a port.
        guard host.first == UInt8(ascii: "[") || !host.contains(UInt8(ascii: ":")) else {
            throw malformed("write an IPv6 address in brackets; a port is one number", .malformedHost)
        }
        let digits = hostAndPort[(colon + 1)...]
        guard !digits.isEmpty else { return (host, nil) }
        guard let port = Endpoint.port(digits), port > 0 else {
            throw malformed("the port is not a number from 1 to 65535", .malformedPort)
        }
        return (host, port)
    }

    func isBackslash(_ byte: UInt8) -> Bool { isLenient && byte == UInt8(ascii: "\\") }
}
