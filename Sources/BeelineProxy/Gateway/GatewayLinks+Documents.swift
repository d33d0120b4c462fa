// SPDX-License-Identifier: Apache-2.0

import Names

extension GatewayLinks {
    /// The parameter by which a copied pathway names its other host; see ``steered(_:)``.
    static let hostParameter = "_beeline_host"

    /// Whether a link leads above the root of its origin, where it would leave the origin's place at the gateway (RFC 3986
    /// §5.2.4 has it end at the root).
    ///
    /// - Parameters:
    ///   - link: a reference.
    ///   - depth: how many directories its document is below the root.
    func leadsAboveRoot(_ link: Substring, depth: Int) -> Bool {
        guard link.contains(".."), !link.contains(":"), !link.hasPrefix("/") else { return false }
        var depth = depth
        let path = link.prefix { $0 != "?" && $0 != "#" }
        for segment in path.split(separator: "/", omittingEmptySubsequences: false) {
            depth += segment == ".." ? -1 : segment == "." ? 0 : 1
            if depth < 0 { return true }
        }
        return false
    }

    /// What a link is mapped to once it is resolved; nil where it stays. That takes time by the base's length.
    func resolved(_ link: Substring, base: HTTPURL, as kind: PlaylistMapper.Kind? = nil) -> String? {
        (try? base.resolving(String(link))).flatMap { path(for: $0, as: kind) }
    }

    /// Where a URL leads that a player made for a copied pathway: to the same path at the host that its parameter names; nil
    /// where it has no such parameter. The player is told by a redirect, so that its relative links begin at that host.
    func steered(_ url: HTTPURL) -> HTTPURL? {
        guard let query = url.query, query.contains(Self.hostParameter) else { return nil }
        var parts = query.split(separator: "&", omittingEmptySubsequences: false)
        guard let index = parts.firstIndex(where: { $0.hasPrefix(Self.hostParameter + "=") }),
            let host = PercentEncoding.decode(parts.remove(at: index).dropFirst(Self.hostParameter.count + 1)),
            let other = try? HTTPURL("\(url.origin.scheme.name)://\(host)/"), other.target == "/", other.user == nil
        else { return nil }
        // As where a player replaces the host of a URL: the port stays, unless the other one has its own.
        let usual = Origin(scheme: url.origin.scheme, host: other.host)
        let origin =
            other.origin == usual ? Origin(scheme: usual.scheme, host: usual.host, port: url.origin.port) : other.origin
        return try? HTTPURL(origin: origin, path: url.path, query: parts.isEmpty ? nil : parts.joined(separator: "&"))
    }
}
