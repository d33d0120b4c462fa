// SPDX-License-Identifier: Apache-2.0

import HTTPTypes

/// The header block of a request, field by field (RFC 9113 §8.3.1).
struct HTTP2RequestHead {
    private var made: HTTP2ServerHandler.Request
    private var hasScheme = false
    private var hasFields = false
    private var isMalformed = false

    init(stream: UInt32) { made = HTTP2ServerHandler.Request(stream: stream) }

    /// Takes the next field of the block.
    mutating func take(_ field: HPACKField) {
        let value = field.field.value
        switch field.kind {
        case .pseudo: takePseudo(field.field.name.canonicalName, value)
        case .malformed, .connection, .status: isMalformed = true
        case .contentLength(let length):
            hasFields = true
            isMalformed = isMalformed || length == nil
        case .ordinary:
            hasFields = true
            if made.contentType == nil, field.field.name == .contentType { made.contentType = value }
            if field.field.name.canonicalName == "x-forwarded-for" {
                made.forwardedFor = made.forwardedFor.map { "\($0),\(value)" } ?? value
            }
        }
    }

    private mutating func takePseudo(_ name: String, _ value: String) {
        guard !hasFields, !value.isEmpty else { return isMalformed = true }
        switch name {
        case ":method" where made.method.isEmpty: made.method = value
        case ":path" where made.target.isEmpty: made.target = value
        case ":scheme" where !hasScheme: hasScheme = true
        case ":authority": break
        default: isMalformed = true
        }
    }

    /// The request; nil where the block is none.
    var request: HTTP2ServerHandler.Request? {
        guard !isMalformed, hasScheme, !made.method.isEmpty, made.target.utf8.first == UInt8(ascii: "/") else {
            return nil
        }
        return made
    }
}
