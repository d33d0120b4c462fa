// SPDX-License-Identifier: Apache-2.0

import HTTPDNS
import Names

/// The gateway's URLs: `/TOKEN/https/live.example.com/a/index.m3u8` stands for `https://live.example.com/a/index.m3u8`. The
/// path stays as it is, so relative links work by themselves; others are mapped by their beginning, letter for letter, so
/// that templates and escapes in what follows stay. Where a playlist says what a document is for that does not show it
/// itself, that stands behind the token: `/TOKEN/assets/https/…`.
struct GatewayLinks: Sendable {
    /// What a path at the gateway stands for.
    struct Target: Equatable {
        let url: HTTPURL
        /// What the document is, where the path says it.
        let kind: PlaylistMapper.Kind?
    }

    /// What nobody can guess: who does not know it gets nothing.
    let token: String
    /// The hosts that are carried.
    let hosts: DomainSet

    init(hosts: DomainSet, token: String = Token.make()) {
        self.hosts = hosts
        self.token = token
    }

    /// What a path at the gateway stands for; nil where it stands for nothing.
    func target(of path: String) -> Target? {
        guard path.hasPrefix("/\(token)/") else { return nil }
        var rest = path.dropFirst(token.count + 2)
        var kind: PlaylistMapper.Kind?
        if let slash = rest.firstIndex(of: "/"), let said = PlaylistMapper.Kind(rawValue: String(rest[..<slash])) {
            kind = said
            rest = rest[rest.index(after: slash)...]
        }
        guard let slash = rest.firstIndex(of: "/"), let scheme = Self.scheme(rest[..<slash]) else { return nil }
        guard let url = try? HTTPURL("\(scheme)://\(rest[rest.index(after: slash)...])"), hosts.contains(url.host)
        else {
            return nil
        }
        return Target(url: url, kind: kind)
    }

    /// The path at the gateway for a URL; nil where its host is not listed.
    ///
    /// - Parameters:
    ///   - url: the URL.
    ///   - kind: what its document is, where that does not show from the document itself.
    func path(for url: HTTPURL, as kind: PlaylistMapper.Kind? = nil) -> String? {
        guard hosts.contains(url.host) else { return nil }
        return place(of: url.origin, as: kind, Self.userInfo(of: url)) + url.target
    }

    /// The beginning of the paths of an origin. A WebSocket is asked for at the place of its `http` twin.
    ///
    /// - Parameters:
    ///   - origin: the origin.
    ///   - kind: what the document is, where that does not show from the document itself.
    ///   - userInfo: user and password with an `@` behind them, as a URL has them; empty where there are none.
    func place(of origin: Origin, as kind: PlaylistMapper.Kind? = nil, _ userInfo: String = "") -> String {
        let origin = origin.httpEquivalent
        let kind = kind.map { "/\($0.rawValue)" } ?? ""
        return "/\(token)\(kind)/\(origin.scheme.name)/\(userInfo)\(origin.authority)"
    }

    /// The beginning of the paths of a URL's origin, with the URL's user and password.
    func root(of url: HTTPURL) -> String { place(of: url.origin, Self.userInfo(of: url)) }

    /// What a link is mapped to; nil where it stays: it is relative, or leads to a host that is not listed.
    ///
    /// - Parameters:
    ///   - link: a reference as a document has it (RFC 3986 §4.1), perhaps with templates in it.
    ///   - base: the URL of the document.
    ///   - baseRoot: ``root(of:)`` of the base, where there are many links.
    ///   - isBeginning: whether more of the link follows: then nothing is added behind its host.
    func mapped(
        _ link: Substring,
        base: HTTPURL,
        baseRoot: String? = nil,
        isBeginning: Bool = false
    ) -> String? {
        if link.hasPrefix("//") {
            return mapped(link.dropFirst(2), scheme: base.origin.scheme.name, isBeginning: isBeginning)
        }
        if link.hasPrefix("/") {
            guard hosts.contains(base.host) else { return nil }
            return (baseRoot ?? root(of: base)) + link
        }
        guard let colon = link.firstIndex(of: ":"), link[colon...].hasPrefix("://"),
            let scheme = Self.scheme(link[..<colon])
        else { return nil }
        return mapped(link[colon...].dropFirst(3), scheme: scheme, isBeginning: isBeginning)
    }

    private func mapped(_ rest: Substring, scheme: String, isBeginning: Bool) -> String? {
        let authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        guard let url = try? HTTPURL("\(scheme)://\(authority)/"), hosts.contains(url.host) else { return nil }
        let tail = rest[authority.endIndex...]
        let needsSlash = !tail.hasPrefix("/") && !(isBeginning && tail.isEmpty)
        return root(of: url) + (needsSlash ? "/" : "") + tail
    }

    private static func scheme(_ text: Substring) -> String? {
        let name = text.lowercased()
        return name == "https" || name == "http" ? name : nil
    }

    private static func userInfo(of url: HTTPURL) -> String {
        guard let user = url.user else { return "" }
        let password = url.password.map { ":" + PercentEncoding.encode($0, keeping: .userInfo) } ?? ""
        return PercentEncoding.encode(user, keeping: .userInfo) + password + "@"
    }
}
