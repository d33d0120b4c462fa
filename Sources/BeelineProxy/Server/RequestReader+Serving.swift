// SPDX-License-Identifier: Apache-2.0

import Beeline
import DirectHTTP
import HTTPWire
import NIOCore
import Names

// Serves HTTP requests: forwards them, or answers them itself.
extension RequestReader {
    func received(_ head: RequestHead) {
        if let refusal { refuse(refusal, to: head) } else { serve(head) }
    }

    /// The page declares an icon, so that browsers do not request one from the site over plain HTTP.
    private static let blankPage = "<!doctype html><link rel=\"icon\" href=\"data:,\">"

    private func serve(_ head: RequestHead) {
        if case .own(let path) = head.target { return serveOwn(path, head: head) }
        guard isAuthorized(head) else { return refuse(.unauthenticated, to: head) }
        switch head.target {
        case .tunnel(let destination):
            tunnel(to: destination, kind: .connect) { [self] refusal in
                refuse(refusal, to: head)
            } succeeded: { [client] in
                client.send(OwnResponse.established)
            }
        case .resource(_, _, let path) where path == server.configuration.blankPagePath && head.method == "GET":
            answer(head, with: OwnResponse(status: 200, type: "text/html; charset=utf-8", body: Self.blankPage))
        case .resource where head.fields.maxForwards == 0:
            answer(head, with: .last(head))
        case .resource(let destination, _, _):
            state = .connecting
            let exchange = ForwardExchange(server, client: client, reader: self, head: head, to: destination)
            exchange.begin(takeInput())
        case .own: break
        }
    }

    private func isAuthorized(_ head: RequestHead) -> Bool {
        guard let credentials = server.configuration.credentials else { return true }
        guard let given = head.fields.proxyAuthorization else { return false }
        return credentials.matches(authorization: given.readableBytesView)
    }

    private func serveOwn(_ path: String, head: RequestHead) {
        if server.configuration.servesPAC, path == "/proxy.pac", head.method == "HEAD" || head.method == "GET",
            let file = PACFile.text(proxy: head.fields.host.map { String(buffer: $0) } ?? "")
        {
            let type = "application/x-ns-proxy-autoconfig"
            return answer(head, with: OwnResponse(status: 200, type: type, body: file))
        }
        if let links = server.gateway, let target = links.target(of: path) {
            if head.fields.maxForwards == 0 { return answer(head, with: .last(head)) }
            if let url = links.steered(target.url) {
                let path = links.path(for: url, isRedirected: target.isRedirected)
                let field = "Location: \(path ?? url.description)\r\n"
                return answer(head, with: OwnResponse(status: 307, fields: field))
            }
            return serve(target, links: links, head: head)
        }
        // Without the path, which may have the gateway's token: refusals are logged.
        refuse(Refusal(404, "this is a proxy; it has no such resource"), to: head)
    }

    private func serve(_ target: GatewayLinks.Target, links: GatewayLinks, head: RequestHead) {
        state = .connecting
        guard head.wantsUpgrade else {
            let exchange = GatewayExchange(
                server,
                links: links.inResponse(to: target),
                client: client,
                reader: self,
                head: head,
                target: target
            )
            return exchange.begin(takeInput())
        }
        let url = server.client.hsts?.upgraded(target.url) ?? target.url
        let upgraded = GatewayLinks.Target(url: url, kind: nil, isRedirected: target.isRedirected)
        let handshake = GatewayHandshake(
            client: server.client,
            links: links.inResponse(to: upgraded),
            target: upgraded
        )
        ForwardExchange(
            server,
            client: client,
            reader: self,
            head: handshake.mapped(head),
            to: handshake.destination,
            gateway: handshake
        ).begin(takeInput())
    }

    /// Refuses a request. The connection stays open if the request was read completely and did not ask for a tunnel.
    ///
    /// - Parameters:
    ///   - head: the request; nil if it could not be parsed.
    ///   - closes: whether to close the connection, because the start of the next request is unknown.
    func refuse(_ refusal: Refusal, to head: RequestHead?, closes: Bool = false) {
        server.report(.refused(head?.destination, refusal))
        // A client may send the tunnel's first bytes before the response. They must not be read as requests (RFC 9931 §8).
        guard let head, refusal != self.refusal, !closes, !head.asksForTunnel else {
            return close(saying: OwnResponse.refusal(refusal).bytes(closes: true, isHead: head?.method == "HEAD"))
        }
        answer(head, with: .refusal(refusal))
    }

    private func answer(_ head: RequestHead, with response: OwnResponse) {
        let isHead = head.method == "HEAD"
        guard head.keepsAlive, !head.hasBody, server.keepsConnections else {
            return close(saying: response.bytes(closes: true, isHead: isHead))
        }
        client.send(response.bytes(closes: false, isHead: isHead, saysKeepAlive: head.isHTTP10))
        takeBack(takeInput())
    }
}
