// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import NIOHPACK
import Names

/// Between swift-http-types and the header blocks of HTTP/2 (RFC 9113 §8).
enum HTTP2Headers {
    /// The header block of a request: pseudo fields first, names in lower case, `Host` as `:authority`.
    static func request(_ request: PreparedRequest) -> HPACKHeaders {
        var headers = HPACKHeaders()
        headers.reserveCapacity(request.fields.count + 5)
        headers.add(name: ":method", value: request.method.rawValue)
        headers.add(name: ":scheme", value: request.origin.scheme.isSecure ? "https" : "http")
        headers.add(name: ":authority", value: request.authority)
        headers.add(name: ":path", value: request.target)
        for field in request.fields where isAllowed(field) {
            headers.add(name: field.name.canonicalName, value: field.value, indexing: indexing(field.name))
        }
        if case .length(let length) = request.framing {
            headers.add(name: "content-length", value: String(length))
        }
        return headers
    }

    /// The response of a header block.
    static func response(_ headers: HPACKHeaders) throws(DirectHTTPError) -> HTTPResponse {
        var response: HTTPResponse?
        for (name, value, _) in headers {
            if name == ":status" {
                guard response == nil, let code = Int(value), (100...999).contains(code) else {
                    throw .malformed("its :status is not a number")
                }
                response = HTTPResponse(status: HTTPResponse.Status(code: code))
            } else if !name.hasPrefix(":") {
                guard response != nil else { throw .malformed("a field stands before :status") }
                response?.headerFields.append(try field(name, value))
            }
        }
        guard let response else { throw .malformed("it has no :status") }
        return response
    }

    /// The trailer fields of a header block; pseudo fields have no place there (RFC 9113 §8.1).
    static func trailers(_ headers: HPACKHeaders) throws(DirectHTTPError) -> HTTPFields {
        var fields = HTTPFields()
        for (name, value, _) in headers {
            guard !name.hasPrefix(":") else { throw .malformed("a trailer field is a pseudo field") }
            fields.append(try field(name, value))
        }
        return fields
    }

    private static func field(_ name: String, _ value: String) throws(DirectHTTPError) -> HTTPField {
        guard let fieldName = HTTPField.Name(parsed: name) else {
            throw .malformed("a header field's name has a character that no name has")
        }
        guard !value.utf8.contains(where: { $0 == 0 || $0 == 0x0a || $0 == 0x0d }) else {
            throw .malformed("the field \(name) holds a control character")
        }
        return HTTPField(name: fieldName, lenientValue: value.utf8)
    }

    /// What speaks of the connection has no place in HTTP/2, and of `TE` only `trailers` (RFC 9113 §8.2.2).
    private static func isAllowed(_ field: HTTPField) -> Bool {
        switch field.name.canonicalName {
        case "connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade": false
        case "te": field.value.lowercased() == "trailers"
        default: true
        }
    }

    /// Secrets stay out of the compression state (RFC 7541 §7.1.3); short cookies could be guessed through it.
    private static func indexing(_ name: HTTPField.Name) -> HPACKIndexing {
        name == .authorization || name == .cookie || name == .proxyAuthorization ? .neverIndexed : .indexable
    }
}
