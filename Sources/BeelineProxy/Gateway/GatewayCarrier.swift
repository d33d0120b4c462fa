// SPDX-License-Identifier: Apache-2.0

import Beeline
import DirectHTTP
import HTTPTypes
import HTTPWire
import NIOCore
import Names

/// Sends a gateway request to the origin and maps the response for the player. Runs in a task.
struct GatewayCarrier: Sendable {
    let client: BeelineClient
    let links: GatewayLinks
    /// The requested URL, and the kind of its document if the path names it.
    let target: GatewayLinks.Target
    /// The gateway's URL as the player knows it, `http://127.0.0.1:…`.
    let gateway: String
    let request: HTTPRequest
    let body: RequestBody
    /// Whether the player uses HTTP/1.0.
    let isHTTP10: Bool
    /// Whether the player's connection can be kept for its next request.
    let keepsAlive: Bool
    /// Restricts the endpoints that may be dialled.
    let screen: EndpointScreen

    private var url: HTTPURL { target.url }

    /// Sends bytes to the player, and returns when they are written. With `closes`, the connection ends afterwards.
    typealias Send = @Sendable (_ bytes: ByteBuffer, _ closes: Bool) async throws -> Void

    /// - Throws: ``Refusal`` if there is no response or it is incomplete.
    func carry(_ send: Send) async throws(Refusal) {
        var options = RequestOptions()
        // Redirects go to the player, so that relative links resolve against the right URL.
        options.redirects = .off
        options.screen = screen
        do {
            var response = try await client.send(request, to: url, body: body, options: options)
            let kind = target.kind ?? PlaylistMapper.Kind(contentType: response.fields[.contentType], path: url.path)
            if kind != nil, response.status == .partialContent, request.method == .get {
                // The path did not show a playlist. Only a complete one can be mapped, so request it again.
                await response.body.discard()
                var whole = request
                whole.headerFields[.range] = nil
                whole.headerFields[.ifRange] = nil
                response = try await client.send(whole, to: url, body: body, options: options)
            }
            let isDocument = kind != nil && request.method == .get
            if isDocument, response.status == .ok, !Self.codings(response).isEmpty {
                // The server compresses anyway, so let the client negotiate and decode the content.
                await response.body.discard()
                var coded = request
                for name in [HTTPField.Name.acceptEncoding, .range, .ifRange] { coded.headerFields[name] = nil }
                response = try await client.send(coded, to: url, body: body, options: options)
                guard response.status == .ok, client.configuration.decodesContent, Self.isDecoded(response) else {
                    throw Refusal(502, "\(url): its links cannot be mapped because its Content-Encoding is unknown")
                }
            }
            if let kind, isDocument, response.status == .ok {
                try await send(playlist(response, as: kind), false)
            } else {
                // The length of a mapped playlist is unknown here.
                try await forward(response, hidesLength: kind != nil && request.method == .head, send: send)
            }
        } catch MappingBudget.Fault.tooLarge {
            throw Refusal(502, "\(url): with its links mapped it has more than \(MappingBudget.limit) bytes")
        } catch MappingBudget.Fault.unreadable {
            let limit = DocumentMapper.maxValues
            throw Refusal(502, "\(url): its links cannot be mapped: it is not JSON or has more than \(limit) values")
        } catch {
            throw Refusal(error, at: url.origin)
        }
    }

    /// The names of the codings of the body, as the server sent it.
    private static func codings(_ response: Response) -> [Substring] {
        response.fields[.contentEncoding].map(ContentCoding.names) ?? []
    }

    /// Whether the client could decode the body.
    private static func isDecoded(_ response: Response) -> Bool {
        let codings = codings(response)
        return codings.count <= 1 && codings.allSatisfy { ContentCoding($0) != nil }
    }

    private func playlist(_ response: Response, as kind: PlaylistMapper.Kind) async throws -> ByteBuffer {
        let document = try await response.collect(upTo: PlaylistMapper.sizeLimit)
        let mapped: ByteBuffer
        if kind == .assets || kind == .steering {
            let mapper = DocumentMapper(links: links, base: url, gateway: gateway)
            mapped =
                try mapper.mapped(Array(document.readableBytesView), as: kind).map { ByteBuffer(string: $0) }
                ?? document
        } else {
            mapped = try PlaylistMapper(links: links, base: url).mapped(document, as: kind)
        }
        var bytes = head(response, framing: "Content-Length: \(mapped.readableBytes)\r\n", isDecoded: true)
        bytes.writeImmutableBuffer(mapped)
        return bytes
    }

    private func forward(_ response: Response, hidesLength: Bool, send: Send) async throws {
        let status = response.status.code
        let hasBody = request.method != .head && status != 204 && status != 304
        // A 204 has no Content-Length (RFC 9110 §8.6).
        let length = hidesLength || status == 204 ? nil : response.fields[.contentLength].flatMap { Int64($0) }
        if let length {
            try await send(head(response, framing: "Content-Length: \(length)\r\n"), false)
        } else if !hasBody {
            try await send(head(response, framing: ""), false)
        } else if isHTTP10 {
            try await send(head(response, framing: "", closes: true), true)
        } else {
            try await send(head(response, framing: "Transfer-Encoding: chunked\r\n"), false)
        }
        guard hasBody else { return await response.body.discard() }
        let isChunked = length == nil && !isHTTP10
        var left = length
        for try await piece in response.body where piece.readableBytes > 0 {
            guard isChunked else {
                if let rest = left {
                    // Excess bytes would be read as the next response.
                    guard Int64(piece.readableBytes) <= rest else { throw Refusal.badOrigin("its body is too long") }
                    left = rest - Int64(piece.readableBytes)
                }
                try await send(piece, false)
                continue
            }
            if let chunk = ByteBuffer.chunk(of: piece) { try await send(chunk, false) }
        }
        guard left ?? 0 == 0 else { throw Refusal.badOrigin("its body is too short") }
        if isChunked { try await send(.lastChunk, false) }
    }

    private func head(
        _ response: Response,
        framing: String,
        isDecoded: Bool = false,
        closes: Bool = false
    ) -> ByteBuffer {
        var head = ByteBuffer(string: "HTTP/1.1 \(response.status.code) \(response.status.reasonPhrase)\r\n")
        for field in GatewayFields.response(response.fields, of: target, links: links) {
            if isDecoded, field.name == .contentEncoding { continue }
            head.writeField(field)
        }
        head.writeString(framing)
        // RFC 9112 §9.3, §9.6.
        if closes || !keepsAlive {
            head.writeStaticString("Connection: close\r\n")
        } else if isHTTP10 {
            head.writeStaticString("Connection: keep-alive\r\n")
        }
        head.writeStaticString("\r\n")
        return head
    }
}
