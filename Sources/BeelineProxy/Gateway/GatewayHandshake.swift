// SPDX-License-Identifier: Apache-2.0

import Beeline
import HTTPTypes
import Names

/// What makes a player's WebSocket handshake at the gateway the origin's own, and its answer the player's. Key, extensions and
/// subprotocols are agreed between the two, so that the frames pass by as they are (RFC 6455 §4).
struct GatewayHandshake {
    let client: BeelineClient
    let links: GatewayLinks
    let url: HTTPURL

    /// Where the origin is.
    var destination: Destination { Destination(url.host, port: url.origin.port) }

    /// The request as the origin gets it: with its name, its `Origin` and the jar's cookies.
    func mapped(_ head: RequestHead) -> RequestHead {
        var fields = GatewayFields.request(head, for: url, links, nil)
        fields[.acceptEncoding] = nil
        if let user = url.user, fields[.authorization] == nil {
            fields[.authorization] = BasicCredentials(user: user, password: url.password ?? "").fieldValue
        }
        let cookie = CookieStep.outgoing(client.configuration.jar, url: url, explicit: fields[.cookie])
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

    /// The response as the player gets it; its cookies are kept.
    func mapped(_ head: ResponseHead) -> ResponseHead {
        let fields = head.fields.httpFields
        _ = CookieStep.incoming(client.configuration.jar, url: url, fields: fields)
        var head = head
        head.fields = head.fields.replacing(GatewayFields.response(fields, of: .init(url: url, kind: nil), links))
        return head
    }
}
