// SPDX-License-Identifier: Apache-2.0

import HTTPTypes

/// The parts of a request's header block that a server reads (RFC 9113 §8.3.1). `HTTP2HeaderRules` validates them.
struct HTTP2RequestHead: HTTP2FieldCollector {
    private(set) var request = HTTP2ServerHandler.Request(stream: 0)

    /// Reads the next field of the block.
    mutating func take(_ field: HPACKField) {
        let value = field.field.value
        switch field.kind {
        case .pseudo(.method?): request.method = value
        case .pseudo(.path?): request.target = value
        case .ordinary:
            if request.contentType == nil, field.field.name == .contentType { request.contentType = value }
            if field.field.name.canonicalName == "x-forwarded-for" {
                request.forwardedFor = request.forwardedFor.map { "\($0),\(value)" } ?? value
            }
        case .pseudo, .malformed, .connection, .status, .te, .contentLength: break
        }
    }
}
