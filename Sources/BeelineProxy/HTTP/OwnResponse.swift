// SPDX-License-Identifier: Apache-2.0

import HTTPWire
import NIOCore

/// A response that the proxy generates.
struct OwnResponse {
    static let established = ByteBuffer(string: "HTTP/1.1 200 Connection established\r\n\r\n")

    static let proceed = ByteBuffer(string: "HTTP/1.1 100 Continue\r\n\r\n")

    var status: Int
    var type = "text/plain"
    /// Further header lines, each with its CRLF.
    var fields = ""
    var body = ""

    static func refusal(_ refusal: Refusal) -> OwnResponse {
        OwnResponse(
            status: refusal.status,
            type: "text/plain; charset=utf-8",
            fields: refusal.status == 407
                ? "Proxy-Authenticate: Basic realm=\"beeline\", charset=\"UTF-8\"\r\n" : "",
            body: singleLine(refusal.message) + "\n"
        )
    }

    /// - Parameter saysKeepAlive: whether to say that the connection is kept, as HTTP/1.0 requires (RFC 9112 §9.3).
    func bytes(closes: Bool, isHead: Bool, saysKeepAlive: Bool = false) -> ByteBuffer {
        let connection = closes ? "Connection: close\r\n" : saysKeepAlive ? "Connection: keep-alive\r\n" : ""
        return ByteBuffer(
            string: """
                HTTP/1.1 \(status) \(Self.reason(status))\r
                Content-Type: \(type)\r
                Content-Length: \(body.utf8.count)\r
                Cache-Control: no-store\r
                \(fields)\(connection)\r
                \(isHead ? "" : body)
                """
        )
    }

    /// Text from a client or server must not start a new line.
    private static func singleLine(_ text: String) -> String {
        String(String.UnicodeScalarView(text.unicodeScalars.map { $0.value < 0x20 || $0.value == 0x7f ? " " : $0 }))
    }

    private static func reason(_ status: Int) -> String {
        switch status {
        case 200: "OK"
        case 307: "Temporary Redirect"
        case 400: "Bad Request"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 407: "Proxy Authentication Required"
        case 408: "Request Timeout"
        case 502: "Bad Gateway"
        case 503: "Service Unavailable"
        case 504: "Gateway Timeout"
        default: "Refused"
        }
    }
}
