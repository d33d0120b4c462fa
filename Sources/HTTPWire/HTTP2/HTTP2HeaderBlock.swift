// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes

/// The fields of a header block, checked as they are taken (RFC 9113 §8.2, §8.3). A fault ends the stream, not the connection.
package struct HTTP2HeaderBlock {
    /// `:status` of a response; nil for requests and trailers.
    package private(set) var status: Int?
    // The pseudo fields of a request.
    package private(set) var method: String?
    package private(set) var path: String?
    package private(set) var scheme: String?
    package private(set) var authority: String?
    /// The fields, without pseudo fields.
    package private(set) var fields = HTTPFields()

    let isRequest: Bool
    /// The limit that the block exceeds. Fields are then missing.
    var excess: HPACKDecoder.Excess?
    private(set) var contentLength: Int64?
    private var fault: String?
    private var hasFields = false
    private var hasPseudoFields = false

    init(isRequest: Bool) { self.isRequest = isRequest }

    /// The head of a response with these fields.
    package var response: HTTPResponse {
        HTTPResponse(status: HTTPResponse.Status(code: status ?? 0), headerFields: fields)
    }

    mutating func take(_ field: HPACKField) {
        switch field.kind {
        case .status(let code):
            guard !isRequest, status == nil, !hasFields else { return note(Self.misplaced) }
            hasPseudoFields = true
            return status = code
        case .pseudo(let name):
            return takePseudo(name, value: field.field.value)
        case .malformed:
            return note("a header field's name or value has a forbidden character")
        case .connection:
            note("the field \(field.field.name) belongs to HTTP/1.1")
        case .te(let isAllowed):
            if isRequest, !isAllowed { note("TE has a value other than trailers") }
        case .contentLength(let length):
            guard let length, contentLength ?? length == length else {
                return note("Content-Length \"\(field.field.value)\" is not one number")
            }
            contentLength = length
        case .untrimmed:
            if isRequest { note("a header field's value starts or ends with a space") }
        case .ordinary:
            break
        }
        if !hasFields { fields.reserveCapacity(16) }
        hasFields = true
        fields.append(field.field)
    }

    private static let misplaced = "a pseudo header field is misplaced, repeated or invalid"

    private mutating func takePseudo(_ name: HPACKField.Pseudo?, value: String) {
        hasPseudoFields = true
        guard isRequest, !hasFields, let name, !value.isEmpty else { return note(Self.misplaced) }
        let earlier: String?
        switch name {
        case .method: (earlier, method) = (method, value)
        case .scheme: (earlier, scheme) = (scheme, value)
        case .path: (earlier, path) = (path, value)
        case .authority: (earlier, authority) = (authority, value)
        }
        if earlier != nil { note(Self.misplaced) }
    }

    private mutating func note(_ fault: String) {
        hasFields = true
        if self.fault == nil { self.fault = fault }
    }

    /// The fault of the block as the head of a message; nil if it is valid.
    var headFault: String? {
        if let fault { return fault }
        guard isRequest else { return status == nil ? "the response has no :status" : nil }
        return method != nil && scheme != nil && path != nil ? nil : "a pseudo header field is missing"
    }

    /// The fault of the block as trailers, which must not contain pseudo fields (RFC 9113 §8.1); nil if it is valid.
    var trailerFault: String? { fault ?? (hasPseudoFields ? "a trailer field is a pseudo field" : nil) }

    /// Whether the end of the stream agrees with Content-Length: a head without a body must not announce one.
    func allows(endStream: Bool) -> Bool { !endStream || contentLength ?? 0 == 0 }
}
