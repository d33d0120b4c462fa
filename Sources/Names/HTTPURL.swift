// SPDX-License-Identifier: Apache-2.0

/// A URL that HTTP or WebSocket serves: scheme, host, port, path and query, all in the form that goes on the wire.
///
///     let url = try HTTPURL("https://Bücher.example/a/../ü?q=1")
///     url.origin          // https://xn--bcher-kva.example
///     url.target          // /%C3%BC?q=1
///     try url.resolving("//cdn.example/x y")  // https://cdn.example/x%20y
///
/// Two URLs are equal if they are of one origin and have the same path, query, fragment, user and password. Percent-encoded
/// octets stay as they were written, since servers may tell `%7E` from `~`.
public struct HTTPURL: Hashable, Sendable, CustomStringConvertible {
    /// How many octets the text of a URL may have: 64 KiB.
    public static let maximumLength = 65_536

    /// Scheme, host and port.
    public let origin: Origin
    /// Path and query as the request line and `:path` carry them.
    public let target: String
    private let extras: Extras?
    /// How many octets of ``target`` are the path.
    package let pathCount: Int

    /// What few URLs have. It lies apart: a URL is copied many times, and each of its texts is counted with it.
    private final class Extras: Hashable, Sendable {
        let fragment: String?
        let user: String?
        let password: String?

        init(fragment: String?, user: String?, password: String?) {
            self.fragment = fragment
            self.user = user
            self.password = password
        }

        static func == (left: Extras, right: Extras) -> Bool {
            (left.fragment, left.user, left.password) == (right.fragment, right.user, right.password)
        }

        func hash(into hasher: inout Hasher) {
            hasher.combine(fragment)
            hasher.combine(user)
            hasher.combine(password)
        }
    }

    /// A URL of parts that are in their final form.
    init(
        origin: Origin,
        checkedTarget target: String,
        pathCount: Int,
        fragment: String? = nil,
        user: String? = nil,
        password: String? = nil
    ) {
        self.origin = origin
        self.target = target
        self.pathCount = pathCount
        let hasExtras = fragment != nil || user != nil || password != nil
        extras = hasExtras ? Extras(fragment: fragment, user: user, password: password) : nil
    }

    /// Reads an absolute URL (RFC 3986 §3, with the schemes of ``Scheme``).
    ///
    /// The host is read as by browsers (see ``Host``). Characters beyond ASCII in path, query and fragment are
    /// percent-encoded as UTF-8, and dot segments of the path are removed, `%2e` among them (WHATWG URL §4.4). Spaces,
    /// control characters and backslashes before the query are refused, not repaired.
    ///
    /// - Throws: ``NameError`` that names the part at fault and the remedy. It never holds the password.
    public init(_ text: String) throws(NameError) {
        var text = text
        self = try text.withOctets { bytes in
            Result { () throws(NameError) in try URLReader(bytes, isLenient: false).absolute() }
        }.get()
    }

    /// The same for parts of a string.
    ///
    /// - Throws: ``NameError`` that names the part at fault and the remedy.
    public init(_ text: some StringProtocol) throws(NameError) {
        try self.init(String(text))
    }

    /// A URL of parts. What would be encoded in the text of a URL is encoded here.
    ///
    /// - Parameters:
    ///   - origin: Scheme, host and port.
    ///   - path: The path; empty, or beginning with `/`.
    ///   - query: The query without its question mark.
    ///   - fragment: The fragment without its number sign.
    /// - Throws: ``NameError`` with code `malformedURL` where a part has a character that would end it.
    public init(origin: Origin, path: String = "/", query: String? = nil, fragment: String? = nil) throws(NameError) {
        guard path.isEmpty || path.utf8.first == UInt8(ascii: "/") else {
            throw NameError(.malformedURL, "path \(NameError.quoted(path.utf8)): a path begins with /")
        }
        if let wrong = path.utf8.first(where: { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") })
            ?? query?.utf8.first(where: { $0 == UInt8(ascii: "#") })
        {
            throw NameError(
                .malformedURL,
                "\(NameError.name(of: wrong)) ends a part of a URL: percent-encode it, or give what follows it as "
                    + "query or fragment"
            )
        }
        let target = query.map { "\(path)?\($0)" } ?? path
        try self.init("\(origin)\(target)" + (fragment.map { "#\($0)" } ?? ""))
    }

    /// The URL of a request in the fields of RFC 9113 §8.3.1, which are also those of swift-http-types.
    ///
    /// - Parameters:
    ///   - scheme: The scheme without its colon.
    ///   - authority: Host and port; it has no user.
    ///   - path: Path and query; empty, or beginning with `/`.
    /// - Throws: ``NameError`` that names the part at fault and the remedy.
    public init(scheme: String, authority: String, path: String) throws(NameError) {
        guard let scheme = Scheme(scheme) else {
            throw NameError(
                .unsupportedScheme,
                "scheme \(NameError.quoted(scheme.utf8)): it is none of http, https, ws and wss"
            )
        }
        if let wrong = authority.utf8.first(where: { "/?#@\\".utf8.contains($0) }) {
            throw NameError(
                .malformedURL,
                "authority \(NameError.quoted(authority.utf8)): \(NameError.name(of: wrong)) cannot stand in it"
            )
        }
        guard path.isEmpty || path.utf8.first == UInt8(ascii: "/"), !path.utf8.contains(UInt8(ascii: "#")) else {
            throw NameError(
                .malformedURL,
                "path \(NameError.quoted(path.utf8)): the path of a request begins with / and has no fragment"
            )
        }
        try self.init("\(scheme.name)://\(authority)\(path)")
    }

    /// The URL of a request to an origin; that is not read again.
    ///
    /// - Parameter target: Path and query; it begins with `/`.
    /// - Throws: ``NameError`` with code `malformedURL`.
    package init(origin: Origin, target: String) throws(NameError) {
        var target = target
        self = try target.withOctets { bytes in
            Result { () throws(NameError) in try URLReader(bytes, isLenient: false).target(of: origin) }
        }.get()
    }

    /// Path and query of a request to an origin, in the form that goes on the wire.
    ///
    /// - Throws: ``NameError`` with code `malformedURL`.
    package static func target(_ text: String, of origin: Origin) throws(NameError) -> String {
        var text = text
        if text.withOctets({ URLReader($0, isLenient: false).plainPathCount }) != nil { return text }
        return try HTTPURL(origin: origin, target: text).target
    }

    /// The host.
    public var host: Host { origin.host }

    /// The percent-encoded path without dot segments; at least `/`.
    public var path: String { String(target[..<pathEnd]) }

    /// The percent-encoded query without `?`; nil where the URL has none.
    public var query: String? {
        let mark = pathEnd
        return mark < target.endIndex ? String(target[target.utf8.index(after: mark)...]) : nil
    }

    /// The percent-encoded fragment without `#`; nil where the URL has none. It is never sent.
    public var fragment: String? { extras?.fragment }

    /// The percent-decoded user of `user:password@`; nil where the URL has none.
    public var user: String? { extras?.user }

    /// The percent-decoded password of `user:password@`; nil where the URL has none.
    public var password: String? { extras?.password }

    private var pathEnd: String.Index { target.utf8.index(target.startIndex, offsetBy: pathCount) }

    /// The whole URL, without user and password (they must not reach logs) and with the fragment.
    public var description: String {
        "\(origin)\(target)" + (fragment.map { "#\($0)" } ?? "")
    }
}
