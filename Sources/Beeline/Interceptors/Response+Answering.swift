// SPDX-License-Identifier: Apache-2.0

import CookieJar
import DirectHTTP
public import HTTPTypes
public import NIOCore
import Names

extension Response {
    /// A response that no server sent: what an ``Interceptor`` answers by itself.
    ///
    /// Its one hop tells the request's URL; its endpoint is `0.0.0.0:0`, and its protocol `none`.
    ///
    /// - Parameters:
    ///   - request: what is answered.
    ///   - status: the status.
    ///   - fields: the fields.
    ///   - body: the body.
    public init(
        answering request: ClientRequest,
        status: HTTPResponse.Status,
        fields: HTTPFields = [:],
        body: ByteBuffer = ByteBuffer()
    ) {
        let head = HTTPResponse(status: status, headerFields: fields)
        self.init(head: head, body: .bytes(body), hops: [Hop(answered: request, by: head)])
    }
}

extension Hop {
    fileprivate init(answered request: ClientRequest, by response: HTTPResponse) {
        var head = request.head
        head.scheme = request.url.origin.scheme.name
        head.authority = head.authority ?? request.url.origin.authority
        head.path = request.url.target
        self.init(
            url: request.url,
            request: head,
            response: response,
            endpoint: Endpoint(IPAddress(v4: 0), port: 0),
            localEndpoint: nil,
            resolution: nil,
            route: .direct,
            attempts: [],
            isReused: false,
            applicationProtocol: "none",
            timings: .none,
            cookiesSent: [],
            cookiesReceived: [],
            receivedAt: .now
        )
    }
}
