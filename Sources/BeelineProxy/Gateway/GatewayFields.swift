// SPDX-License-Identifier: Apache-2.0

import DirectHTTP
import HTTPTypes
import HTTPWire
import NIOCore
import Names

/// Maps header fields at the gateway: fields that name the origin are translated, and hop-by-hop fields are removed.
enum GatewayFields {
    /// The fields of a player's request for the origin.
    ///
    /// - Parameter kind: the kind of playlist that the path names; nil if none.
    static func request(
        _ head: RequestHead,
        for target: GatewayLinks.Target,
        links: GatewayLinks,
        kind: PlaylistMapper.Kind?
    ) -> HTTPFields {
        let url = target.url
        var fields = head.fields.httpFields
        // Browsers send the cookies of 127.0.0.1 to every port. The origin's cookies are in the jar.
        fields[.cookie] = nil
        // All players share the client's connections, so a login that authenticates a connection must not be passed on.
        if target.isRedirected || head.fields.authenticatesConnection { fields[.authorization] = nil }
        // Trailers are not forwarded.
        fields[.trailer] = nil
        // A compressed or partial playlist cannot be mapped.
        fields[.acceptEncoding] = "identity"
        if kind != nil {
            fields[.range] = nil
            fields[.ifRange] = nil
        }
        if let referer = fields[.referer] { fields[.referer] = original(referer, for: url, links: links) }
        if fields[.origin] != nil { fields[.origin] = url.origin.serialized }
        fields[.expect] = nil
        if let left = head.fields.maxForwards { fields[.maxForwards] = String(left - 1) }
        return fields
    }

    /// Hop-by-hop fields, framing, and fields that apply only to the origin's own host. In a browser, some of these would act on
    /// all hosts of the gateway, and on other programs at 127.0.0.1.
    private static let dropped: Set<String> = [
        "connection", "keep-alive", "proxy-authenticate", "proxy-connection", "te", "trailer", "transfer-encoding",
        "upgrade", "content-length", "strict-transport-security", "alt-svc", "clear-site-data",
        "service-worker-allowed",
    ]

    /// The fields of the origin's response for the player, without framing.
    static func response(_ response: HTTPFields, of target: GatewayLinks.Target, links: GatewayLinks) -> HTTPFields {
        let url = target.url
        var fields = HTTPFields()
        let listed = Set(response[values: .connection].flatMap(\.listElements).map { $0.lowercased() })
        for field in response {
            let name = field.name.canonicalName
            if dropped.contains(name) || listed.contains(name) { continue }
            var field = field
            if name == "location" || name == "content-location" {
                // Octets that are not UTF-8 are percent-encoded, because U+FFFD would lead to another URL.
                let reference = PercentEncoding.urlText(field.withUnsafeBytesOfValue { Array($0) })
                field.value = location(reference, of: target, links: links)
            } else if name == "set-cookie" {
                field.value = setCookie(field.value, of: url, links: links)
            }
            fields.append(field)
        }
        return fields
    }

    /// The location of a redirect, mapped to the gateway with the same kind of document.
    private static func location(_ value: String, of target: GatewayLinks.Target, links: GatewayLinks) -> String {
        guard let url = try? target.url.resolving(value) else { return value }
        let isRedirected = target.isRedirected || url.origin != target.url.origin
        return links.path(for: url, as: target.kind, isRedirected: isRedirected) ?? url.description
    }

    /// A cookie for the player: the gateway's host, a path below the origin's, over http. The jar has the original.
    static func setCookie(_ value: String, of url: HTTPURL, links: GatewayLinks) -> String {
        let place = links.place(of: url.origin)
        var parts = value.split(separator: ";", omittingEmptySubsequences: false).map { $0.trimmingBlanks() }
        let pair = parts.removeFirst()
        var path = Substring()
        var kept: [Substring] = []
        for part in parts {
            let name = part.prefix { $0 != "=" }
            switch name.trimmingBlanks().lowercased() {
            case "path": path = part.dropFirst(name.count + 1).trimmingBlanks()
            case "domain", "secure", "samesite", "partitioned", "priority": break
            default: kept.append(part)
            }
        }
        if !path.hasPrefix("/") {
            // The directory of the request (RFC 6265bis §5.1.4).
            let directory = url.path.lastIndex(of: "/").map { url.path[..<$0] } ?? ""
            path = directory.isEmpty ? "/" : directory
        }
        return ([pair, "Path=\(place)\(path)"] + kept).joined(separator: "; ")
    }

    /// The `Referer` for a request to `url`, by the policy of browsers, "strict-origin-when-cross-origin". To the player, all
    /// URLs of the gateway have one origin, so it always sends the whole URL.
    private static func original(_ referer: String, for url: HTTPURL, links: GatewayLinks) -> String? {
        guard let sent = try? HTTPURL(referer), let page = links.target(of: sent.target)?.url else { return nil }
        if page.origin == url.origin { return page.description }
        guard url.origin.scheme.isSecure || !page.origin.scheme.isSecure else { return nil }
        return page.origin.serialized + "/"
    }
}
