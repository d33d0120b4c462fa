// SPDX-License-Identifier: Apache-2.0

import HTTPDNS
import Names

/// Maps URLs to the gateway: `/TOKEN/https/live.example.com/a/index.m3u8` stands for
/// `https://live.example.com/a/index.m3u8`. The path is kept, so relative links work without mapping. For other links,
/// only the beginning is replaced, so that templates and escapes in the rest are preserved. If only the playlist shows
/// the kind of a document, the kind follows the token: `/TOKEN/assets/https/…`. After a redirect to another origin, and in
/// links there to the same origin, `redirected` follows the token.
struct GatewayLinks: Sendable {
    struct Target: Equatable {
        let url: HTTPURL
        /// The kind of the document, if the path names it.
        let kind: PlaylistMapper.Kind?
        /// Whether a redirect of another origin leads here. To the player, all URLs of the gateway have one origin, so it keeps
        /// its `Authorization`, which must not be passed on (RFC 9110 §15.4).
        var isRedirected = false
    }

    private static let redirected = "redirected"

    /// A secret that every request must contain.
    let token: String
    /// The hosts that the gateway serves.
    let hosts: DomainSet
    /// The origin whose URLs get `redirected`, as ``secured(_:)``; nil for none.
    private var redirectedOrigin: Origin?

    init(hosts: DomainSet, token: String = Token.make()) {
        self.hosts = hosts
        self.token = token
    }

    /// The links of the response to a request. Behind a redirect, those to its own origin are marked like its URL: otherwise the
    /// player's `Authorization` would go there with the next request. `http` and `https` count as one origin there, because HSTS
    /// or an HTTPS record may have changed the one to the other.
    func inResponse(to target: Target) -> GatewayLinks {
        var links = self
        links.redirectedOrigin = target.isRedirected ? Self.secured(target.url.origin) : nil
        return links
    }

    /// The target of a gateway path; nil if the path is invalid or its host is not listed.
    func target(of path: String) -> Target? {
        guard path.hasPrefix("/\(token)/") else { return nil }
        var rest = path.dropFirst(token.count + 2)
        let isRedirected = rest.hasPrefix(Self.redirected + "/")
        if isRedirected { rest = rest.dropFirst(Self.redirected.count + 1) }
        var kind: PlaylistMapper.Kind?
        if let slash = rest.firstIndex(of: "/"), let said = PlaylistMapper.Kind(rawValue: String(rest[..<slash])) {
            kind = said
            rest = rest[rest.index(after: slash)...]
        }
        guard let slash = rest.firstIndex(of: "/"), let scheme = Self.scheme(rest[..<slash]) else { return nil }
        guard let url = try? HTTPURL("\(scheme)://\(rest[rest.index(after: slash)...])"), hosts.contains(url.host)
        else { return nil }
        return Target(url: url, kind: kind, isRedirected: isRedirected)
    }

    /// The gateway path for a URL, with its fragment; nil if its host is not listed.
    ///
    /// - Parameters:
    ///   - kind: the kind of the document, if the document itself does not show it.
    ///   - isRedirected: ``Target/isRedirected``.
    func path(for url: HTTPURL, as kind: PlaylistMapper.Kind? = nil, isRedirected: Bool = false) -> String? {
        guard hosts.contains(url.host) else { return nil }
        let fragment = url.fragment.map { "#" + $0 } ?? ""
        return place(of: url.origin, as: kind, isRedirected: isRedirected, url.userInfo) + url.target + fragment
    }

    /// The path prefix of an origin. A `ws` origin has the prefix of its `http` equivalent.
    ///
    /// - Parameters:
    ///   - kind: the kind of the document, if the document itself does not show it.
    ///   - isRedirected: ``Target/isRedirected``.
    ///   - userInfo: user and password followed by `@`, as in a URL; empty for none.
    func place(
        of origin: Origin,
        as kind: PlaylistMapper.Kind? = nil,
        isRedirected: Bool = false,
        _ userInfo: String = ""
    ) -> String {
        let origin = origin.httpEquivalent
        let marker = isRedirected || Self.secured(origin) == redirectedOrigin ? "/" + Self.redirected : ""
        let kind = kind.map { "/\($0.rawValue)" } ?? ""
        return "/\(token)\(marker)\(kind)/\(origin.scheme.name)/\(userInfo)\(origin.authority)"
    }

    /// The path prefix of a URL's origin, with the URL's user and password.
    func root(of url: HTTPURL) -> String { place(of: url.origin, url.userInfo) }

    /// The gateway path for a link; nil if the link stays unchanged, because it is relative or its host is not listed.
    ///
    /// - Parameters:
    ///   - link: a reference in a document (RFC 3986 §4.1), possibly with templates.
    ///   - base: the URL of the document.
    ///   - baseRoot: ``root(of:)`` of the base, to avoid computing it for each link.
    ///   - isBeginning: whether more of the link follows, so that no slash is added after the host.
    func mapped(_ link: Substring, base: HTTPURL, baseRoot: String? = nil, isBeginning: Bool = false) -> String? {
        if link.beginsExactly(with: "//") {
            return mapped(link.droppingOctets(2), scheme: base.origin.scheme.name, isBeginning: isBeginning)
        }
        if link.beginsExactly(with: "/") {
            guard hosts.contains(base.host) else { return nil }
            return (baseRoot ?? root(of: base)) + link
        }
        guard let colon = link.utf8.firstIndex(of: UInt8(ascii: ":")), link[colon...].beginsExactly(with: "://"),
            let scheme = Self.scheme(link[..<colon])
        else { return nil }
        return mapped(link[colon...].droppingOctets(3), scheme: scheme, isBeginning: isBeginning)
    }

    private func mapped(_ rest: Substring, scheme: String, isBeginning: Bool) -> String? {
        let end = rest.utf8.firstIndex { "/?#".utf8.contains($0) } ?? rest.endIndex
        guard let url = try? HTTPURL("\(scheme)://\(rest[..<end])/"), hosts.contains(url.host) else { return nil }
        let tail = rest[end...]
        let needsSlash = !tail.beginsExactly(with: "/") && !(isBeginning && tail.isEmpty)
        return root(of: url) + (needsSlash ? "/" : "") + tail
    }

    /// The origin with TLS, as HSTS changes it (RFC 6797 §8.3).
    private static func secured(_ origin: Origin) -> Origin {
        let port = origin.port == origin.scheme.defaultPort ? nil : origin.port
        return Origin(scheme: .https, host: origin.host, port: port)
    }

    private static func scheme(_ text: Substring) -> String? {
        let name = text.lowercased()
        return name == "https" || name == "http" ? name : nil
    }
}
