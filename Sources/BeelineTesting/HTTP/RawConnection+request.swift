// SPDX-License-Identifier: Apache-2.0

import HTTPTypes

extension RawConnection {
    /// Reads one HTTP/1.x request with its body (RFC 9112); nil if the client closes before the first byte.
    ///
    /// - Parameter bodyLimit: The maximum number of body bytes to keep. Further bytes are only counted and hashed. Default 1
    ///   MiB.
    /// - Throws: ``TestingError`` with code `badInput` for an invalid request and `closed` for an incomplete one.
    package func receiveRequest(bodyLimit: Int = BodyCollector.keptBytes) async throws -> ReceivedRequest? {
        guard var request = try await receiveHead() else { return nil }
        try await receiveBody(of: &request, limit: bodyLimit)
        return request
    }

    /// Reads the body and the trailers that the head announces.
    func receiveBody(of request: inout ReceivedRequest, limit: Int = BodyCollector.keptBytes) async throws {
        var body = BodyCollector(limit: limit)
        if let coding = request.fields[.transferEncoding] {
            guard coding.lowercased() == "chunked" else {
                throw TestingError(.badInput, "transfer coding \"\(coding)\"")
            }
            while let size = try await receiveChunkSize() {
                try await receive(size, into: &body)
                _ = try await receive(until: "\r\n", limit: 2)
            }
            request.trailers = try await receiveTrailers()
        } else if let text = request.fields[.contentLength] {
            guard let length = Int(text), length >= 0 else {
                throw TestingError(.badInput, "Content-Length \"\(text)\"")
            }
            try await receive(length, into: &body)
        }
        body.finish(&request)
    }

    /// Reads the request line and the header fields.
    func receiveHead() async throws -> ReceivedRequest? {
        guard let bytes = try await receive(until: "\r\n\r\n") else { return nil }
        let text = String(latin1: bytes)
        var lines = text.split(separator: "\r\n", omittingEmptySubsequences: false)[...]
        let words = (lines.popFirst() ?? "").split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 3, let method = HTTPRequest.Method(String(words[0])), words[2].hasPrefix("HTTP/1.") else {
            throw TestingError(.badInput, "the request line in \(text.prefix(80).debugDescription)")
        }
        let fields = try Self.fields(lines)
        return ReceivedRequest(
            method: method,
            target: String(words[1]),
            version: String(words[2]),
            fields: fields,
            authority: HTTPField.Name("Host").flatMap { fields[$0] },
            rawHead: text,
            connection: info
        )
    }

    private func receive(_ count: Int, into body: inout BodyCollector) async throws {
        var left = count
        while left > 0 {
            let piece = try await receive(count: min(left, 65_536))
            body.add(piece)
            left -= piece.count
        }
    }

    /// The size of the next chunk; nil for the last chunk.
    private func receiveChunkSize() async throws -> Int? {
        let line = try await receive(until: "\r\n", limit: 4096) ?? []
        let text = String(decoding: line.dropLast(2), as: UTF8.self)
        guard let size = Int(text.prefix { $0 != ";" && $0 != " " }, radix: 16), size >= 0 else {
            throw TestingError(.badInput, "chunk size \(text.debugDescription)")
        }
        return size == 0 ? nil : size
    }

    private func receiveTrailers() async throws -> HTTPFields {
        var lines: [Substring] = []
        while let bytes = try await receive(until: "\r\n", limit: 65_536), bytes.count > 2, lines.count < 1000 {
            lines.append(Substring(String(latin1: bytes.dropLast(2))))
        }
        return try Self.fields(lines[...])
    }

    private static func fields(_ lines: ArraySlice<Substring>) throws -> HTTPFields {
        var fields = HTTPFields()
        for line in lines where !line.isEmpty {
            guard let colon = line.firstIndex(of: ":"), let name = HTTPField.Name(String(line[..<colon])) else {
                throw TestingError(.badInput, "header line \(line.debugDescription)")
            }
            // HTTPField trims surrounding white space.
            fields.append(HTTPField(name: name, value: String(line[line.index(after: colon)...]).latin1))
        }
        return fields
    }
}
