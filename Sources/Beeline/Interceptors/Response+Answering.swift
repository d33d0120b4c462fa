// SPDX-License-Identifier: Apache-2.0

public import CookieJar
import DirectHTTP
public import HTTPTypes
public import NIOCore
import Names

extension Response {
    /// Creates a response without a server, for an ``Interceptor`` that answers a request itself.
    ///
    /// The response has one hop with the URL of the request, endpoint `0.0.0.0:0` and protocol `none`.
    ///
    /// - Parameters:
    ///   - request: The request to answer.
    ///   - status: The status.
    ///   - fields: The header fields.
    ///   - body: The body.
    ///   - receivedAt: The time from which the ages of its cookies count. Default: the current time.
    public init(
        answering request: ClientRequest,
        status: HTTPResponse.Status,
        fields: HTTPFields = [:],
        body: ByteBuffer = ByteBuffer(),
        receivedAt: CookieTime = .now
    ) {
        let head = HTTPResponse(status: status, headerFields: fields)
        self.init(head: head, body: .bytes(body), hops: [Hop(answered: request, by: head, receivedAt: receivedAt)])
    }
}

extension Hop {
    fileprivate init(answered request: ClientRequest, by response: HTTPResponse, receivedAt: CookieTime) {
        var head = request.head
        head.scheme = request.url.origin.scheme.name
        head.authority = head.authority ?? request.url.origin.authority
        head.path = request.url.target
        self.init(
            url: request.url,
            isUpgradedToTLS: false,
            request: head,
            response: response,
            endpoint: Endpoint(IPAddress(v4: 0), port: 0),
            localEndpoint: nil,
            resolution: nil,
            route: .direct,
            attempts: [],
            isReused: false,
            applicationProtocol: "none",
            isRequestHTTP10: false,
            ech: .notOffered,
            timings: .none,
            cookiesSent: [],
            cookiesReceived: [],
            receivedAt: receivedAt,
            connection: nil
        )
    }
}
