// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import NIOCore

extension OwnResponse {
    /// Fields that do not come back to who could not read them otherwise (RFC 9110 §9.3.8).
    private static let secret = ["authorization", "cookie", "proxy-authorization"]

    /// What a request is answered that no further proxy may pass on: a TRACE brings back what came of it, without its
    /// credentials (RFC 9110 §7.6.2).
    static func last(_ head: RequestHead, closes: Bool) -> ByteBuffer {
        guard head.method == "TRACE", case .resource(_, let authority, let path) = head.target else {
            return make(200, type: "text/plain", body: "", closes: closes, isHead: false)
        }
        var body = "TRACE http://\(authority)\(path) HTTP/\(head.isOld ? "1.0" : "1.1")\r\nHost: \(authority)\r\n"
        for field in head.fields.httpFields where !secret.contains(field.name.canonicalName) {
            body += "\(field.name.rawName): \(field.value)\r\n"
        }
        return make(200, type: "message/http", body: body + "Max-Forwards: 0\r\n\r\n", closes: closes, isHead: false)
    }
}
