// SPDX-License-Identifier: Apache-2.0

/// An `http`, `https`, `ws` or `wss` URL, normalized to the form that is sent.
///
///     let url = try HTTPURL("https://Bücher.example/a/../ü?q=1")
///     url.origin          // https://xn--bcher-kva.example
///     url.target          // /%C3%BC?q=1
///     try url.resolving("//cdn.example/x y")  // https://cdn.example/x%20y
///
/// Two URLs are equal if their origin, path, query, fragment, user and password are equal. Percent-encoded octets stay as
/// written, because a server may treat `%7E` and `~` differently.
public struct HTTPURL: Hashable, Sendable, CustomStringConvertible {
    /// The longest URL text that is accepted: 65536 octets (64 KiB).
    package static let maxLength = 65_536

    /// Scheme, host and port.
    public let origin: Origin
    /// The path and query, as the request line and `:path` carry them.
    public let target: String
    private let extras: Extras?
    /// The length of the path in ``target``, in octets.
    package let pathCount: Int

    /// The parts that few URLs have. They are in a separate object so that copying a URL retains fewer strings.
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

    /// Creates a URL from normalized parts.
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

    /// Reads an absolute URL (RFC 3986 §3) with one of the schemes of ``Scheme``.
    ///
    /// The host is read as browsers read it (see ``Host``). Non-ASCII characters in the path, query and fragment are
    /// percent-encoded as UTF-8. Dot segments of the path are removed, including `%2e` (WHATWG URL §4.4). Spaces, control
    /// characters, and backslashes before the query are errors.
    ///
    /// - Throws: ``NameError`` that names the invalid part and the remedy. The message does not contain the password.
    public init(_ text: String) throws(NameError) {
        try self.init(text, keepsDotSegments: false)
    }

    /// Reads an absolute URL as ``init(_:)-(String)`` does, but may keep the dot segments of its path, for servers that give them a
    /// meaning (curl's `--path-as-is`).
    ///
    /// - Throws: ``NameError`` that names the invalid part and the remedy.
    package init(_ text: String, keepsDotSegments: Bool) throws(NameError) {
        var text = text
        self = try text.withOctets { bytes in
            Result { () throws(NameError) in
                try URLReader(bytes, isLenient: false, keepsDots: keepsDotSegments).absolute()
            }
        }.get()
    }

    /// Reads an absolute URL from a substring or another string type.
    ///
    /// - Throws: ``NameError`` that names the invalid part and the remedy.
    public init(_ text: some StringProtocol) throws(NameError) {
        try self.init(String(text))
    }

    /// Creates a URL from parts. The parts are checked and encoded like the text of a URL.
    ///
    /// - Parameters:
    ///   - origin: The scheme, host and port.
    ///   - path: The path; empty, or starting with `/`.
    ///   - query: The query without its question mark.
    ///   - fragment: The fragment without its number sign.
    /// - Throws: ``NameError`` with code `malformedURL` if the path does not start with `/`, a part contains the delimiter of the
    ///   next part, or a character is not allowed.
    public init(origin: Origin, path: String = "/", query: String? = nil, fragment: String? = nil) throws(NameError) {
        guard path.isEmpty || path.utf8.first == UInt8(ascii: "/") else {
            throw NameError(.malformedURL, "path \(NameError.quoted(path.utf8)): a path begins with /")
        }
        if let wrong = path.utf8.first(where: { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") })
            ?? query?.utf8.first(where: { $0 == UInt8(ascii: "#") })
        {
            throw NameError(
                .malformedURL,
                "\(NameError.name(of: wrong)) ends a part of a URL: percent-encode it, or pass the rest as "
                    + "query or fragment"
            )
        }
        let target = query.map { "\(path)?\($0)" } ?? path
        try self.init("\(origin)\(target)" + (fragment.map { "#\($0)" } ?? ""))
    }

    /// Creates the URL of a request from the pseudo-header fields of RFC 9113 §8.3.1, which swift-http-types also uses.
    ///
    /// - Parameters:
    ///   - scheme: The scheme without its colon.
    ///   - authority: The host and port, without user information.
    ///   - path: The path and query; empty, or starting with `/`.
    /// - Throws: ``NameError`` that names the invalid part and the remedy.
    package init(scheme: String, authority: String, path: String) throws(NameError) {
        guard let scheme = Scheme(scheme) else {
            throw NameError(
                .unsupportedScheme,
                "scheme \(NameError.quoted(scheme.utf8)): it is not http, https, ws or wss"
            )
        }
        if let wrong = authority.utf8.first(where: { "/?#@\\".utf8.contains($0) }) {
            throw NameError(
                .malformedURL,
                "authority \(NameError.quoted(authority.utf8)): \(NameError.name(of: wrong)) is not allowed in it"
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

    /// Creates the URL of a request target on an origin that is already parsed.
    ///
    /// - Parameter target: The path and query; starts with `/`.
    /// - Throws: ``NameError`` with code `malformedURL`.
    package init(origin: Origin, target: String) throws(NameError) {
        var target = target
        self = try target.withOctets { bytes in
            Result { () throws(NameError) in try URLReader(bytes, isLenient: false).target(of: origin) }
        }.get()
    }

    /// Normalizes the path and query of a request to `origin`.
    ///
    /// - Throws: ``NameError`` with code `malformedURL`.
    package static func target(_ text: String, of origin: Origin) throws(NameError) -> String {
        var text = text
        if text.withOctets({ URLReader($0, isLenient: false).plainPathCount }) != nil { return text }
        return try HTTPURL(origin: origin, target: text).target
    }

    /// The host.
    public var host: Host { origin.host }

    /// The percent-encoded path without dot segments. It is at least `/`.
    public var path: String { String(target[..<pathEnd]) }

    /// The percent-encoded query without `?`; nil if the URL has none.
    public var query: String? {
        let mark = pathEnd
        return mark < target.endIndex ? String(target[target.utf8.index(after: mark)...]) : nil
    }

    /// The percent-encoded fragment without `#`; nil if the URL has none. Requests do not send it.
    public var fragment: String? { extras?.fragment }

    /// The percent-decoded user of `user:password@`; nil if the URL has none.
    public var user: String? { extras?.user }

    /// The percent-decoded password of `user:password@`; nil if the URL has none.
    public var password: String? { extras?.password }

    private var pathEnd: String.Index { target.utf8.index(target.startIndex, offsetBy: pathCount) }

    /// The URL with its fragment, but without user and password so that logs do not expose them.
    public var description: String {
        "\(origin)\(target)" + (fragment.map { "#\($0)" } ?? "")
    }
}
