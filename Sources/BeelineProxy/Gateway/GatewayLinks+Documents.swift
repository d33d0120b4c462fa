// SPDX-License-Identifier: Apache-2.0

import Names

extension GatewayLinks {
    /// The query parameter that holds the host of a pathway clone; see ``steered(_:)``.
    static let hostParameter = "_beeline_host"

    /// Whether a link has more `..` segments than there are directories before them. Players would resolve it outside the
    /// origin's path at the gateway, although RFC 3986 §5.2.4 stops at the origin's root.
    ///
    /// - Parameter depth: the number of directories in the document's path.
    func leadsAboveRoot(_ link: Substring, depth: Int) -> Bool {
        guard link.firstOctets(of: "..") != nil else { return false }
        let slash = UInt8(ascii: "/")
        var path = link[..<(link.utf8.firstIndex { "?#".utf8.contains($0) } ?? link.endIndex)]
        var depth = depth
        // A colon before the first slash ends a scheme.
        if let end = path.utf8.firstIndex(where: { ":/".utf8.contains($0) }), path.utf8[end] != slash {
            path = path[end...].droppingOctets(1)
            guard path.beginsExactly(with: "//") else { return false }
        }
        if path.beginsExactly(with: "//") {
            path = path.droppingOctets(2)
            path = path[(path.utf8.firstIndex(of: slash) ?? path.endIndex)...]
        }
        if path.beginsExactly(with: "/") {
            path = path.droppingOctets(1)
            depth = 0
        }
        while true {
            let end = path.utf8.firstIndex(of: slash) ?? path.endIndex
            let segment = path[..<end]
            depth += segment == ".." ? -1 : segment == "." ? 0 : 1
            if depth < 0 { return true }
            guard end < path.endIndex else { return false }
            path = path[end...].droppingOctets(1)
        }
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
