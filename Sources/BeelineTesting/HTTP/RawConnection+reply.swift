// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import NIOCore

extension RawConnection {
    /// Sends a reply to a request. Returns false if the connection must not be reused.
    ///
    /// - Parameter closes: Whether the client requested to close the connection.
    func send(_ reply: Reply, to method: HTTPRequest.Method, closes: Bool = false) async throws -> Bool {
        if let takeover = reply.takeover {
            try await takeover(self)
            return false
        }
        if reply.framing != .none { try await sendHead(of: reply, closes: closes) }
        if reply.framing == .none || !reply.hasNoBody(for: method) { try await sendBody(of: reply) }
        switch reply.ending {
        case .keepAlive: return reply.framing != .untilClose && !closes
        case .close: return false
        case .hangUp: await cut()
        case .reset: await reset()
        }
        return false
    }

    /// Sends the interim responses, the status line and the header fields.
    func sendHead(of reply: Reply, closes: Bool = false) async throws {
        var fields = reply.fields
        let isFramed = fields[.contentLength] != nil || fields[.transferEncoding] != nil
        switch reply.framing {
        case .length where !isFramed && reply.status.code != 204:
            fields[.contentLength] = "\(reply.bodySize)"
        case .chunked where !isFramed:
            fields[.transferEncoding] = "chunked"
        default: break
        }
        let ends = reply.ending == .close || (reply.ending == .keepAlive && (closes || reply.framing == .untilClose))
        if ends, fields[.connection] == nil { fields[.connection] = "close" }
        var text = ""
        for response in reply.interim { text += Self.head(response.status, response.headerFields) }
        text += Self.head(reply.status, fields)
        try await send(text.latin1)
    }

    private static func head(_ status: HTTPResponse.Status, _ fields: HTTPFields) -> String {
        var text = "HTTP/1.1 \(status.code) \(status.reasonPhrase)\r\n"
        for field in fields {
            let value = field.withUnsafeBytesOfValue { String(latin1: $0) }
            text += "\(field.name.rawName): \(value)\r\n"
        }
        return text + "\r\n"
    }

    private func sendBody(of reply: Reply) async throws {
        let isChunked = reply.framing == .chunked
        try await reply.sendBody { piece in
            // An empty chunk would end the body.
            guard !piece.isEmpty else { return }
            try await send(isChunked ? Array("\(String(piece.count, radix: 16))\r\n".utf8) + piece + [13, 10] : piece)
        }
        guard isChunked, reply.isCompleted else { return }
        try await send("0\r\n" + reply.trailers.map { "\($0.name.rawName): \($0.value)\r\n" }.joined() + "\r\n")
    }
}
