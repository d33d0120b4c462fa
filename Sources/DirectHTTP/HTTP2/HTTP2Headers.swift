// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes
import HTTPWire
import NIOCore
import Names

/// Converts between swift-http-types and HTTP/2 header blocks (RFC 9113 §8).
enum HTTP2Headers {
    /// Writes the header block of a request: pseudo fields first, names in lower case, `Host` as `:authority`.
    static func write(_ request: PreparedRequest, with encoder: inout HPACKEncoder, into block: inout ByteBuffer) {
        encoder.begin(into: &block)
        switch request.method {
        case .get: encoder.encode(staticIndex: HPACKStaticTable.getIndex, into: &block)
        case .post: encoder.encode(staticIndex: HPACKStaticTable.postIndex, into: &block)
        default: encoder.encode(":method", value: request.method.rawValue, indexing: .incremental, into: &block)
        }
        let isSecure = request.origin.scheme.isSecure
        encoder.encode(staticIndex: isSecure ? HPACKStaticTable.httpsIndex : HPACKStaticTable.httpIndex, into: &block)
        encoder.encode(":authority", value: request.authority, indexing: .incremental, into: &block)
        encoder.encode(path: request.target, into: &block)
        for field in request.fields where field.isAllowedInHTTP2 {
            let (name, value) = (field.name.canonicalName, field.value)
            if value.utf8.allSatisfy({ $0 < 0x80 }) {
                encoder.encode(name, value: value, indexing: indexing(field), into: &block)
            } else {
                // A conversion to text would change bytes that are not UTF-8, which cookies may contain.
                field.withUnsafeBytesOfValue { octets in
                    encoder.encode(
                        name,
                        octets: UnsafeRawBufferPointer(octets),
                        indexing: indexing(field),
                        into: &block
                    )
                }
            }
        }
        if case .length(let length) = request.framing {
            encoder.encode("content-length", value: String(length), indexing: .none, into: &block)
        }
    }

    /// Secrets are never indexed (RFC 7541 §7.1.3), because the compression state could reveal short cookies.
    private static func indexing(_ field: HTTPField) -> HPACKEncoder.Indexing {
        switch field.name.canonicalName.utf8.count {
        case 6 where field.name == .cookie: return .never
        case 13 where field.name == .authorization: return .never
        case 19 where field.name == .proxyAuthorization: return .never
        default: break
        }
        switch field.indexingStrategy {
        case .disallow: return .never
        case .avoid: return .none
        default: return .incremental
        }
    }
}

extension HTTPField {
    /// Whether it may be sent over HTTP/2: not connection-specific, and `TE` only as `trailers` (RFC 9113 §8.2.2).
    package var isAllowedInHTTP2: Bool { !HPACKField.belongsToConnection(name.canonicalName) && !asksForCodings }

    /// Whether it is a `TE` that asks for more than `trailers`. The client decodes no transfer coding but chunked.
    var asksForCodings: Bool { name.canonicalName == "te" && value.lowercased() != "trailers" }
}
