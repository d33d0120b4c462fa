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
    /// The request's head as it was sent. Its cookies and credentials are secrets.
    public let request: HTTPRequest
    /// The response's head.
    public let response: HTTPResponse
    /// Where the socket goes: to the origin, or to the proxy.
    public let endpoint: Endpoint
    /// Where the socket comes from; nil for a Unix domain socket, and where no server answered.
    public let localEndpoint: Endpoint?
    /// How the endpoint was known when it was dialled; nil through a proxy, and where it was pinned.
    public let resolution: Resolution?
    /// The proxy that carried it; nil where it went straight.
    public var proxy: Proxy? { route.proxy }
    let route: Route
    /// Every endpoint that was tried when the connection was dialled.
    public let attempts: [Attempt]
    /// Whether the connection had been used before.
    public let isReused: Bool
    /// `http/1.1`, `h2`, or `http/1.0` where the status line said so.
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

    /// The version of HTTP, as curl's `-w` and OpenTelemetry write it: `1.0`, `1.1` or `2`.
    package var httpVersion: String {
        switch applicationProtocol {
        case "h2": "2"
        case "http/1.0": "1.0"
        default: "1.1"
        }
    }
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
        var fields = request.fields
        if let framing = request.framingField,
            framing.name == .contentLength || response.applicationProtocol != "h2"
        {
            fields.append(framing)
        }
        self.request = HTTPRequest(
            method: request.method,
            scheme: hop.url.origin.scheme.name,
            authority: request.authority,
            path: request.target,
            headerFields: fields
        )
        self.response = response.head
        endpoint = response.connection.endpoint
        localEndpoint = response.connection.localEndpoint
        resolution = response.connection.context as? Resolution
        self.route = route
        attempts = response.connection.attempts
        isReused = response.isReused
        applicationProtocol = response.applicationProtocol
        timings = response.timings
        self.cookiesSent = cookiesSent
        self.cookiesReceived = cookiesReceived
        receivedAt = .now
    }
}
