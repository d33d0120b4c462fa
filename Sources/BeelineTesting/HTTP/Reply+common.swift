// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension Reply {
    /// A `text/plain` reply.
    public static func text(_ text: String, status: HTTPResponse.Status = .ok) -> Reply {
        Reply(status: status, fields: [.contentType: "text/plain; charset=utf-8"], body: [.text(text)])
    }

    /// A reply with bytes of a content type.
    public static func bytes(_ bytes: [UInt8], type: String = "application/octet-stream") -> Reply {
        Reply(fields: [.contentType: type], body: [.bytes(bytes)])
    }

    /// A value encoded as JSON with sorted keys.
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

    /// A chunked reply with one chunk for each non-empty piece.
    public static func chunks(_ pieces: Piece..., trailers: HTTPFields = [:]) -> Reply {
        Reply(fields: [.contentType: "text/plain; charset=utf-8"], body: pieces, framing: .chunked, trailers: trailers)
    }

    /// Sends exactly these bytes instead of a response. HTTP/2 resets the stream instead.
    public static func raw(_ pieces: Piece..., ending: Ending = .keepAlive) -> Reply {
        Reply(body: pieces, framing: .none, ending: ending)
    }

    /// Lets a closure take over the connection. The server sends nothing itself and closes the connection when the closure
    /// ends. HTTP/2 resets the stream instead.
    package static func takeover(_ body: @escaping @Sendable (RawConnection) async throws -> Void) -> Reply {
        var reply = Reply(framing: .none)
        reply.takeover = body
        return reply
    }

    /// A copy of the reply with one more header field.
    public func adding(_ name: HTTPField.Name, _ value: String) -> Reply {
        var reply = self
        reply.fields.append(HTTPField(name: name, value: value))
        return reply
    }
}
