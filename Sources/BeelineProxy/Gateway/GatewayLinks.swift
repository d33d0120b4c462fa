// SPDX-License-Identifier: Apache-2.0

import HTTPDNS
import Names

/// The gateway's URLs: `/TOKEN/https/live.example.com/a/index.m3u8` stands for `https://live.example.com/a/index.m3u8`. The
/// path stays as it is, so relative links work by themselves; others are mapped by their beginning, letter for letter, so
/// that templates and escapes in what follows stay.
struct GatewayLinks: Sendable {
    /// What nobody can guess: who does not know it gets nothing.
    let token: String
    /// The hosts that are carried.
    let hosts: DomainSet

    init(hosts: DomainSet, token: String = Token.make()) {
        self.hosts = hosts
        self.token = token
    }

    /// The URL that a path at the gateway stands for; nil where it stands for none.
    func url(of path: String) -> HTTPURL? {
        guard path.hasPrefix("/\(token)/") else { return nil }
        let rest = path.dropFirst(token.count + 2)
        guard let slash = rest.firstIndex(of: "/"), let scheme = Self.scheme(rest[..<slash]) else { return nil }
        guard let url = try? HTTPURL("\(scheme)://\(rest[rest.index(after: slash)...])"), isListed(url) else {
            return nil
        }
        return url
    }

    /// The path at the gateway for a URL; nil where its host is not listed.
    func path(for url: HTTPURL) -> String? {
        isListed(url) ? place(of: url.origin) + url.target : nil
    }

    /// The beginning of the paths of an origin. A WebSocket is asked for at the place of its `http` twin.
    func place(of origin: Origin) -> String {
        let origin = origin.httpEquivalent
        return "/\(token)/\(origin.scheme.name)/\(origin.authority)"
    }

    /// What a link is mapped to; nil where it stays: it is relative, or leads to a host that is not listed.
    ///
    /// - Parameters:
    ///   - link: a reference as a document has it (RFC 3986 §4.1), perhaps with templates in it.
    ///   - base: the URL of the document.
    func mapped(_ link: Substring, base: HTTPURL) -> String? {
        if link.hasPrefix("//") { return mapped(link.dropFirst(2), scheme: base.origin.scheme.name) }
        if link.hasPrefix("/") {
            guard isListed(base) else { return nil }
            return place(of: base.origin) + link
        }
        guard let colon = link.firstIndex(of: ":"), link[colon...].hasPrefix("://"),
            let scheme = Self.scheme(link[..<colon])
        else { return nil }
        return mapped(link[colon...].dropFirst(3), scheme: scheme)
    }

    private func mapped(_ rest: Substring, scheme: String) -> String? {
        let authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        guard let origin = try? HTTPURL("\(scheme)://\(authority)/"), origin.user == nil, isListed(origin) else {
            return nil
        }
        let tail = rest[authority.endIndex...]
        return place(of: origin.origin) + (tail.hasPrefix("/") ? "" : "/") + tail
    }

    private static func scheme(_ text: Substring) -> String? {
        let name = text.lowercased()
        return name == "https" || name == "http" ? name : nil
    }

    private func isListed(_ url: HTTPURL) -> Bool { url.user == nil && hosts.contains(url.host) }
}
