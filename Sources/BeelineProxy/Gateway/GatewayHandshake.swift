// SPDX-License-Identifier: Apache-2.0

import Beeline
import HTTPTypes
import HTTPWire
import Names

/// Maps a player's WebSocket handshake to the origin, and the response back. Player and origin negotiate key,
/// extensions and subprotocols with each other, so frames pass unchanged (RFC 6455 §4).
struct GatewayHandshake {
    let client: BeelineClient
    let links: GatewayLinks
    let target: GatewayLinks.Target

    var url: HTTPURL { target.url }

    var destination: Destination { Destination(url.host, port: url.origin.port) }

    /// The request for the origin, with its authority, its `Origin` and the jar's cookies.
    func mapped(_ head: RequestHead) -> RequestHead {
        var fields = GatewayFields.request(head, for: target, links: links, kind: nil)
        fields[.acceptEncoding] = nil
        if let user = url.user, fields[.authorization] == nil {
            fields[.authorization] = BasicCredentials(user: user, password: url.password ?? "").fieldValue
        }
        let cookie = CookieStep.outgoing(client.jar, url: url, explicit: fields[.cookie])
        fields[.cookie] = nil
        if let field = cookie.field { fields.append(field) }
        return RequestHead(
            head,
            for: destination,
            authority: url.origin.authority,
            path: url.target,
            fields: head.fields.replacing(fields)
        )
    }

    /// The response for the player. Its cookies are stored in the jar.
    func mapped(_ head: ResponseHead) -> ResponseHead {
        let fields = head.fields.httpFields
        _ = CookieStep.incoming(client.jar, url: url, fields: fields)
        var head = head
        head.fields = head.fields.replacing(GatewayFields.response(fields, of: target, links: links))
        return head
    }
}
