// SPDX-License-Identifier: Apache-2.0

import CookieJar
public import DirectHTTP
public import HTTPDNS
public import HTTPTypes
public import Names

/// One request and its response. A call has several hops if it is redirected.
public struct Hop: Sendable {
    /// The requested URL, with the host name.
    public let url: HTTPURL
    /// Whether the client changed the URL from `http` to `https` or from `ws` to `wss`. The reason is that its host
    /// requires TLS (HSTS, RFC 6797; see ``BeelineClient/hsts``), or that an HTTPS record offers it (RFC 9460 §9.5).
    public let isUpgradedToTLS: Bool
    /// The head of the request as it was sent. Its cookies and credentials are secrets.
    public let request: HTTPRequest
    /// The head of the response.
    public let response: HTTPResponse
    /// The remote endpoint of the socket: that of the origin or of the proxy.
    public let endpoint: Endpoint
    /// The local endpoint of the socket; `nil` for a Unix domain socket, and if no server answered.
    public let localEndpoint: Endpoint?
    /// How the endpoint was resolved when it was dialled. `nil` if nothing was resolved: for a proxy, a Unix domain
    /// socket, a host with fixed addresses, or a response of an ``Interceptor``.
    public let resolution: Resolution?
    /// The proxy; `nil` if the connection was direct.
    public var proxy: Proxy? { route.proxy }
    let route: Route
    /// The path of the Unix domain socket; `nil` for other connections.
    package var socketPath: String? { route.socketPath }
    /// All connection attempts of the dial.
    public let attempts: [Attempt]
    /// Whether an earlier request had used the connection.
    public let isReused: Bool
    /// `http/1.1`, `h2`, or `http/1.0` if the status line has that version.
    public let applicationProtocol: String
    /// Whether the request was written in HTTP/1.0.
    package let isRequestHTTP10: Bool
    /// The outcome of Encrypted Client Hello when the connection was made (RFC 9849).
    public let ech: ECHOutcome
    /// How long each phase took.
    public let timings: ExchangeTimings
    /// The names of the cookies that were sent.
    public let cookiesSent: [String]
    /// The outcome of each `Set-Cookie` field, in order: those of a proxy's challenges, then those of the response. It
    /// has names only, because values are secrets.
    package let cookiesReceived: [ReceivedCookieOutcome]
    /// When the head of the response arrived. Cookie ages count from this time.
    let receivedAt: CookieTime

    /// The connection; `nil` if an interceptor gave the response.
    let connection: ConnectionInfo?

    /// The certificate that the origin showed, in DER form; `nil` without TLS. The rest of its chain is not known.
    package var certificate: [UInt8]? { url.origin.scheme.isSecure ? connection?.certificateDER : nil }
    /// The method.
    public var method: HTTPRequest.Method { request.method }
    /// The status of the response.
    public var status: HTTPResponse.Status { response.status }

    /// The HTTP version, as curl's `-w` and OpenTelemetry write it: `1.0`, `1.1` or `2`.
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
        request: PreparedRequest,
        response: ExchangeResponse,
        route: Route,
        cookiesSent: [String],
        cookiesReceived: [ReceivedCookieOutcome],
        receivedAt: CookieTime
    ) {
        url = hop.url
        isUpgradedToTLS = hop.isUpgraded
        self.request = HTTPRequest(request, to: hop.url, isHTTP2: response.applicationProtocol == "h2")
        self.response = response.head
        connection = response.connection
        endpoint = response.connection.endpoint
        localEndpoint = response.connection.localEndpoint
        resolution = response.connection.context as? Resolution
        self.route = route
        attempts = response.connection.attempts
        isReused = response.isReused
        applicationProtocol = response.applicationProtocol
        isRequestHTTP10 = response.isRequestHTTP10
        ech = response.connection.ech
        timings = response.timings
        self.cookiesSent = cookiesSent
        self.cookiesReceived = cookiesReceived
        self.receivedAt = receivedAt
    }
}

extension HTTPRequest {
    /// The head of a request as it is sent.
    ///
    /// - Parameter isHTTP2: Whether it is sent over HTTP/2. `nil` if that is not known.
    init(_ request: PreparedRequest, to url: HTTPURL, isHTTP2: Bool?) {
        var fields = request.fields
        if isHTTP2 == true { fields.removeAll { !$0.isAllowedInHTTP2 } }
        // Only HTTP/1.1 has Transfer-Encoding.
        if let framing = request.framingField, framing.name == .contentLength || isHTTP2 == false {
            fields.append(framing)
        }
        self.init(
            method: request.method,
            scheme: url.origin.scheme.name,
            authority: request.authority,
            path: request.target,
            headerFields: fields
        )
    }
}
