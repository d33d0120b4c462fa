// SPDX-License-Identifier: Apache-2.0

import Names

extension GatewayLinks {
    /// The query parameter that holds the host of a pathway clone; see ``steered(_:)``.
    static let hostParameter = "_beeline_host"

    /// Whether a relative link has more `..` segments than its base has directories. Players would resolve it outside the
    /// origin's path at the gateway, although RFC 3986 §5.2.4 stops at the origin's root.
    ///
    /// - Parameter depth: the number of directories in the document's path.
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

    /// The gateway path for a link after resolution; nil if it is not mapped. The cost is linear in the length of the base.
    func resolved(_ link: Substring, base: HTTPURL, as kind: PlaylistMapper.Kind? = nil) -> String? {
        (try? base.resolving(String(link))).flatMap { path(for: $0, as: kind) }
    }

    /// The target of a URL that a player made from a pathway clone: the same path at the host in its parameter; nil without that
    /// parameter. The player is redirected there, so that its relative links start at that host.
    func steered(_ url: HTTPURL) -> HTTPURL? {
        guard let query = url.query, query.contains(Self.hostParameter) else { return nil }
        var parts = query.split(separator: "&", omittingEmptySubsequences: false)
        guard let index = parts.firstIndex(where: { $0.hasPrefix(Self.hostParameter + "=") }),
            let host = PercentEncoding.decode(parts.remove(at: index).dropFirst(Self.hostParameter.count + 1)),
            let other = try? HTTPURL("\(url.origin.scheme.name)://\(host)/"), other.target == "/", other.user == nil
        else { return nil }
        // As when a player replaces a URL's host, the port is kept, unless the new host has a port.
        let usual = Origin(scheme: url.origin.scheme, host: other.host)
        let origin =
            other.origin == usual ? Origin(scheme: usual.scheme, host: usual.host, port: url.origin.port) : other.origin
        return try? HTTPURL(origin: origin, path: url.path, query: parts.isEmpty ? nil : parts.joined(separator: "&"))
    }
}
