// SPDX-License-Identifier: Apache-2.0

import DirectHTTP
import HTTPTypes
import NIOCore
import Names

/// Fields on their way through the gateway: what names the origin is mapped, what belongs to one connection stays.
enum GatewayFields {
    /// The fields of a player's request as the origin gets them.
    ///
    /// - Parameters:
    ///   - head: the request.
    ///   - url: what it is for.
    ///   - kind: what kind of playlist its path names; nil: none.
    static func request(
        _ head: RequestHead,
        for url: HTTPURL,
        _ links: GatewayLinks,
        _ kind: PlaylistMapper.Kind?
    ) -> HTTPFields {
        var fields = head.fields.httpFields
        // Browsers send the cookies of 127.0.0.1 whatever the port, those of other programs too. The origin's are in the jar.
        fields[.cookie] = nil
        // The client's connections serve all players, so that none of them may have the login of one.
        if head.fields.authenticatesConnection { fields[.authorization] = nil }
        // Trailers stay here.
        fields[.trailer] = nil
        // What is coded cannot be read, and a part of a playlist is none.
        fields[.acceptEncoding] = "identity"
        if kind != nil {
            fields[.range] = nil
            fields[.ifRange] = nil
        }
        if let referer = fields[.referer] { fields[.referer] = original(referer, links) }
        if fields[.origin] != nil { fields[.origin] = url.origin.serialized }
        fields[.expect] = nil
        if let left = head.fields.maxForwards { fields[.maxForwards] = String(left - 1) }
        return fields
    }

    /// What belongs to one connection, says where the body ends, or holds for the origin's host alone.
    private static let dropped: Set<String> = [
        "connection", "keep-alive", "proxy-authenticate", "proxy-connection", "te", "trailer", "transfer-encoding",
        "upgrade", "content-length", "strict-transport-security", "alt-svc",
    ]

    /// The fields of the origin's response as the player gets them, without framing.
    static func response(_ response: HTTPFields, of target: GatewayLinks.Target, _ links: GatewayLinks) -> HTTPFields {
        let url = target.url
        var fields = HTTPFields()
        let listed = Set(
            response[values: .connection].flatMap { $0.split(separator: ",") }.map { $0.trimmingBlanks().lowercased() }
        )
        for field in response {
            let name = field.name.canonicalName
            if dropped.contains(name) || listed.contains(name) { continue }
            var field = field
            if name == "location" || name == "content-location" {
                field.value = location(field.value, of: target, links)
            } else if name == "set-cookie" {
                field.value = setCookie(field.value, of: url, links)
            }
            fields.append(field)
        }
        return fields
    }

    /// Where a redirect leads, as the player is told; to the same kind of document.
    private static func location(_ value: String, of target: GatewayLinks.Target, _ links: GatewayLinks) -> String {
        guard let url = try? target.url.resolving(value) else { return value }
        return links.path(for: url, as: target.kind) ?? url.description
    }

    /// A cookie as the player may keep it: for the gateway's host, below the origin's place, over http. The right one is in
    /// the client's jar.
    static func setCookie(_ value: String, of url: HTTPURL, _ links: GatewayLinks) -> String {
        let place = links.place(of: url.origin)
        var parts = value.split(separator: ";", omittingEmptySubsequences: false).map { part in
            part.drop { $0 == " " }
        }
        let pair = parts.removeFirst()
        var path = Substring()
        var kept: [Substring] = []
        for part in parts {
            let name = part.prefix { $0 != "=" }.lowercased()
            switch name {
            case "path": path = part.dropFirst(5)
            case "domain", "secure", "samesite", "partitioned", "priority": break
            default: kept.append(part)
            }
        }
        if !path.hasPrefix("/") {
            // RFC 6265bis §5.1.4: the directory of the request.
            let directory = url.path.lastIndex(of: "/").map { url.path[..<$0] } ?? ""
            path = directory.isEmpty ? "/" : directory
        }
        return ([pair, "Path=\(place)\(path)"] + kept).joined(separator: "; ")
    }

    private static func original(_ referer: String, _ links: GatewayLinks) -> String? {
        guard let url = try? HTTPURL(referer) else { return nil }
        return links.target(of: url.target)?.url.description
    }
}
