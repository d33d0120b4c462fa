// SPDX-License-Identifier: Apache-2.0

public import DirectHTTP
import NIOCore

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension RequestBody {
    /// Creates a JSON body (RFC 8259) with `Content-Type: application/json`.
    ///
    /// - Parameters:
    ///   - value: The value to encode.
    ///   - encoder: The encoder.
    /// - Throws: ``BeelineError`` with code `encodingFailed`.
    public static func json(
        _ value: some Encodable,
        encoder: JSONEncoder = JSONEncoder()
    ) throws(BeelineError) -> RequestBody {
        do {
            var body = RequestBody.bytes(try encoder.encode(value))
            body.contentType = "application/json"
            return body
        } catch {
            throw BeelineError(
                .encodingFailed,
                "the value of type \(type(of: value)) cannot be written as JSON: \(error)",
                underlyingError: error
            )
        }
    }
}

extension Response {
    /// Decodes the body as JSON. It ignores the status and `Content-Type`: check ``status`` first.
    ///
    /// - Parameters:
    ///   - type: The type to decode.
    ///   - limit: The maximum size in bytes, after content decoding; a larger body throws `responseTooLarge`. Default 16 MiB.
    ///   - decoder: The decoder.
    /// - Throws: ``BeelineError``; `decodingFailed` if the body is not JSON of that type.
    public func decode<Value: Decodable>(
        _ type: Value.Type = Value.self,
        upTo limit: Int = 16 << 20,
        decoder: JSONDecoder = JSONDecoder()
    ) async throws(BeelineError) -> Value {
        let bytes = try await collect(upTo: limit)
        do {
            return try decoder.decode(type, from: Data(bytes.readableBytesView))
        } catch {
            throw BeelineError(
                .decodingFailed,
                "\(url) answered \(status.code) with a body that is not a \(type) in JSON: \(error)",
                hops: hops,
                underlyingError: error
            )
        }
    }
}
