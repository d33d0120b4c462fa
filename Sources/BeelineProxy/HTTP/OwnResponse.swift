// SPDX-License-Identifier: Apache-2.0

import HTTPWire
import NIOCore

/// Responses that the proxy generates.
enum OwnResponse {
    static let established = ByteBuffer(string: "HTTP/1.1 200 Connection established\r\n\r\n")

    static let proceed = ByteBuffer(string: "HTTP/1.1 100 Continue\r\n\r\n")

    /// The response for a refusal, with its message as the body.
    static func refusal(_ refusal: Refusal, closes: Bool, isHead: Bool = false) -> ByteBuffer {
        let challenge =
            refusal.status == 407 ? "Proxy-Authenticate: Basic realm=\"beeline\", charset=\"UTF-8\"\r\n" : ""
        return make(
            refusal.status,
            type: "text/plain; charset=utf-8",
            fields: challenge,
            body: singleLine(refusal.message) + "\n",
            closes: closes,
            isHead: isHead
        )
    }

    static func make(
        _ status: Int,
        type: String,
        fields: String = "",
        body: String,
        closes: Bool,
        isHead: Bool
    ) -> ByteBuffer {
        ByteBuffer(
            string: """
                HTTP/1.1 \(status) \(reason(status))\r
                Content-Type: \(type)\r
                Content-Length: \(body.utf8.count)\r
                Cache-Control: no-store\r
                \(fields)\(closes ? "Connection: close\r\n" : "")\r
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
