// SPDX-License-Identifier: Apache-2.0

import HTTPTypes

/// Collects the fields of a header block for a client. `HTTP2HeaderRules` validates them.
struct HTTP2Fields: HTTP2FieldCollector {
    private var taken: HTTPFields?

    var fields: HTTPFields { taken ?? [:] }
    var isEmpty: Bool { taken == nil }

    /// Adds the next field of the block; pseudo and malformed fields are skipped.
    mutating func take(_ field: HPACKField) {
        switch field.kind {
        case .status, .pseudo, .malformed: return
        case .ordinary, .te, .connection, .contentLength: break
        }
        if taken == nil {
            taken = HTTPFields()
            taken?.reserveCapacity(16)
        }
        taken?.append(field.field)
    }

    /// The head of a response with the collected fields.
    func response(_ status: Int?) -> HTTPResponse {
        HTTPResponse(status: HTTPResponse.Status(code: status ?? 0), headerFields: fields)
    }
}
