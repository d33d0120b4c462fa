// SPDX-License-Identifier: Apache-2.0

import CookieJar
public import DirectHTTP
public import HTTPDNS
public import HTTPTypes
public import Names

/// One request and its response on the way to the final one.
public struct Hop: Sendable {
    /// The URL that was asked, with the name.
    public let url: HTTPURL
    /// The request's head as it was sent, but for the fields that frame the body. Its cookies and credentials are secrets.
    public let request: HTTPRequest
    /// The response's head.
    public let response: HTTPResponse
    /// Where the socket goes: to the origin, or to the proxy.
    public let endpoint: Endpoint
    /// How the endpoint was known when it was dialled; nil through a proxy, and where it was pinned.
    public let resolution: Resolution?
    /// The proxy that carried it; nil where it went straight.
    public let proxy: Proxy?
    /// Every endpoint that was tried when the connection was dialled.
    public let attempts: [Attempt]
    /// Whether the connection had been used before.
    public let isReused: Bool
    /// `http/1.1` or `h2`.
    public let applicationProtocol: String
    /// How long each phase took.
    public let timings: ExchangeTimings
    /// The names of the cookies that were sent.
    public let cookiesSent: [String]
    /// What became of each `Set-Cookie`, in their order; the names only, for values are secrets.
    public let cookiesReceived: [ReceivedCookieOutcome]
    /// When the response's head had come: what its cookies' ages count from.
    let receivedAt: CookieTime

    /// The method.
    public var method: HTTPRequest.Method { request.method }
    /// The status that came back.
    public var status: HTTPResponse.Status { response.status }
}

extension Hop {
    init(
        _ hop: HopRequest,
        _ request: PreparedRequest,
        _ response: ExchangeResponse,
        _ route: Route,
        cookiesSent: [String],
        cookiesReceived: [ReceivedCookieOutcome]
    ) {
        url = hop.url
        self.request = HTTPRequest(
            method: request.method,
            scheme: hop.url.origin.scheme.name,
            authority: hop.authority ?? hop.url.origin.authority,
            path: request.target,
            headerFields: request.fields
        )
        self.response = response.head
        endpoint = response.connection.endpoint
        resolution = response.connection.context as? Resolution
        if case .proxy(let proxy) = route { self.proxy = proxy } else { proxy = nil }
        attempts = response.connection.attempts
        isReused = response.isReused
        applicationProtocol = response.connection.applicationProtocol
        timings = response.timings
        self.cookiesSent = cookiesSent
        self.cookiesReceived = cookiesReceived
        receivedAt = .now
    }
}
