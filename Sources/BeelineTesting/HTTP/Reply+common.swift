// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension Reply {
    /// Text of type `text/plain`.
    public static func text(_ text: String, status: HTTPResponse.Status = .ok) -> Reply {
        Reply(status: status, fields: [.contentType: "text/plain; charset=utf-8"], body: [.text(text)])
    }

    /// Bytes of a type.
    public static func bytes(_ bytes: [UInt8], type: String = "application/octet-stream") -> Reply {
        Reply(fields: [.contentType: type], body: [.bytes(bytes)])
    }

    /// A value as JSON with sorted keys.
    public static func json(_ value: some Encodable, status: HTTPResponse.Status = .ok) throws -> Reply {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let body = try encoder.encode(value)
        return Reply(status: status, fields: [.contentType: "application/json"], body: [.bytes(Array(body))])
    }

    /// A status with an empty body.
    public static func status(_ status: HTTPResponse.Status) -> Reply {
        Reply(status: status)
    }

    /// A redirect (RFC 9110 §15.4).
    public static func redirect(to location: String, status: HTTPResponse.Status = .found) -> Reply {
        Reply(status: status, fields: [.location: location])
    }

    /// A chunked body, a chunk for each piece that has bytes.
    public static func chunks(_ pieces: Piece..., trailers: HTTPFields = [:]) -> Reply {
        Reply(fields: [.contentType: "text/plain; charset=utf-8"], body: pieces, framing: .chunked, trailers: trailers)
    }

    /// Exactly these bytes in place of a response. HTTP/2 cannot send them and resets the stream.
    public static func raw(_ pieces: Piece..., ending: Ending = .keepAlive) -> Reply {
        Reply(body: pieces, framing: .none, ending: ending)
    }

    /// Hands the connection over: nothing is sent before, and it is closed when the closure ends. HTTP/2 cannot do this
    /// and resets the stream.
    public static func takeover(_ body: @escaping @Sendable (RawConnection) async throws -> Void) -> Reply {
        var reply = Reply(framing: .none)
        reply.takeover = body
        return reply
    }

    /// The reply with a header field added.
    public func adding(_ name: HTTPField.Name, _ value: String) -> Reply {
        var reply = self
        reply.fields.append(HTTPField(name: name, value: value))
        return reply
    }
}
