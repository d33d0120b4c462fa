// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import HTTPWire

extension OwnResponse {
    /// Fields that are not echoed, because the client might not be allowed to read them (RFC 9110 §9.3.8).
    private static let secret = ["authorization", "cookie", "proxy-authorization"]

    /// The response to Max-Forwards 0 (RFC 9110 §7.6.2). For TRACE, the request without its credentials.
    static func last(_ head: RequestHead) -> OwnResponse {
        guard head.method == "TRACE", case .resource(_, let authority, let path) = head.target else {
            return OwnResponse(status: 200)
        }
        var body = "TRACE http://\(authority)\(path) HTTP/\(head.isHTTP10 ? "1.0" : "1.1")\r\nHost: \(authority)\r\n"
        for field in head.fields.httpFields where !secret.contains(field.name.canonicalName) {
            body += "\(field.name.rawName): \(field.value)\r\n"
        }
        return OwnResponse(status: 200, type: "message/http", body: body + "Max-Forwards: 0\r\n\r\n")
    }
}
