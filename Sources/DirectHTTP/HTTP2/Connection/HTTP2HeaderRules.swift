// SPDX-License-Identifier: Apache-2.0

import HTTPTypes

/// Validates a header block field by field (RFC 9113 §8.2, §8.3).
///
/// A fault ends the stream, not the connection.
struct HTTP2HeaderRules {
    let isRequest: Bool
    private(set) var status: Int?
    private(set) var contentLength: Int64?
    private var fault: String?
    private var hasFields = false
    private var pseudo: HPACKField.Pseudo = []

    init(isRequest: Bool) { self.isRequest = isRequest }

    /// Checks the next field of the block.
    mutating func take(_ field: HPACKField) {
        switch field.kind {
        case .ordinary:
            break
        case .status(let code):
            guard !isRequest, status == nil, !hasFields else {
                return note("a pseudo header field is in the wrong place")
            }
            status = code
            return
        case .pseudo(let name):
            guard isRequest, !hasFields, let name, !field.field.value.isEmpty, pseudo.insert(name).inserted else {
                return note("a pseudo header field is in the wrong place")
            }
            return
        case .malformed:
            note("a header field's name or value has a forbidden character")
        case .connection:
            note("the field \(field.field.name) belongs to HTTP/1.1")
        case .te(let isAllowed):
            if isRequest, !isAllowed { note("TE has a value other than trailers") }
        case .contentLength(let length):
            guard let length, contentLength ?? length == length else {
                return note("Content-Length \"\(field.field.value)\" is not one number")
            }
            contentLength = length
        }
        hasFields = true
    }

    /// The fault of the block as the head of a message; nil if it is valid.
    var headFault: String? {
        if let fault { return fault }
        guard isRequest else { return status == nil ? "it has no :status" : nil }
        return pseudo.isSuperset(of: [.method, .scheme, .path]) ? nil : "a pseudo header field is missing"
    }

    /// The fault of the block as trailers, which must not contain pseudo fields (RFC 9113 §8.1); nil if it is valid.
    var trailerFault: String? {
        fault ?? (status == nil && pseudo.isEmpty ? nil : "a trailer field is a pseudo field")
    }

    /// Whether the end of the stream agrees with Content-Length: a head without a body must not announce one.
    func allows(endStream: Bool) -> Bool { !endStream || contentLength ?? 0 == 0 }

    private mutating func note(_ fault: String) {
        hasFields = true
        if self.fault == nil { self.fault = fault }
    }
}
