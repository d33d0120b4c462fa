// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import NIOCore
import Names

/// A response head with the framing information of its fields (RFC 9112 §6).
struct HTTP1ResponseHead {
    var response: HTTPResponse
    var contentLength: Int64?
    var hasTransferCoding = false
    /// Whether the last transfer coding is `chunked`.
    var isChunked = false
    /// 0 for `HTTP/1.0`, 1 for `HTTP/1.1`.
    var minorVersion = 1
    /// Whether the server keeps the connection open. The default is true for HTTP/1.1 and false for HTTP/1.0 (RFC 9112 §9.3).
    var keepAlive: Bool
    /// Whether `Connection: close` was sent. It overrides ``keepAlive``.
    var isClosing = false
}

/// Parses heads: a status line, then one field per line (RFC 9112 §4, §5).
enum HTTP1HeadParser {
    typealias Bytes = UnsafeRawBufferPointer

    /// - Parameter memo: the connection's memo; fields of repeated lines are reused from it.
    static func parseResponse(
        _ block: ByteBuffer,
        fieldCount: Int,
        memo: inout HTTP1HeadMemo
    ) throws(DirectHTTPError) -> HTTP1ResponseHead {
        let result = block.withUnsafeReadableBytes { bytes in
            Result { () throws(DirectHTTPError) in
                var lines = Lines(bytes)
                guard let first = lines.next() else { throw .malformed("it does not begin with a status line") }
                var head = try parseStatusLine(first)
                head.response.headerFields.reserveCapacity(16)
                try forEachField(in: &lines, limit: fieldCount, memo: &memo) { field, role throws(DirectHTTPError) in
                    if let role { try note(field, role, in: &head) }
                    head.response.headerFields.append(field)
                }
                return head
            }
        }
        return try result.get()
    }

    static func parseFields(_ block: ByteBuffer, fieldCount: Int) throws(DirectHTTPError) -> HTTPFields {
        let result = block.withUnsafeReadableBytes { bytes in
            Result { () throws(DirectHTTPError) in
                var fields = HTTPFields()
                var lines = Lines(bytes)
                var memo = HTTP1HeadMemo()
                try forEachField(in: &lines, limit: fieldCount, memo: &memo) { field, _ in fields.append(field) }
                return fields
            }
        }
        return try result.get()
    }

    /// Parses a chunk size line such as `1A;extension` (RFC 9112 §7.1). Extensions are ignored.
    static func parseChunkSize(_ line: ByteBuffer) throws(DirectHTTPError) -> Int64 {
        var size: Int64 = 0
        var digits = 0
        var tail = line.readableBytesView[...]
        while let byte = tail.first, let nibble = PercentEncoding.hexValue(byte) {
            digits += 1
            guard digits <= 15 else { throw .malformed("the size of a chunk has too many digits") }
            size = size << 4 | Int64(nibble)
            tail = tail.dropFirst()
        }
        let after = tail.first { !isBlank($0) }
        guard digits > 0, after == nil || after == UInt8(ascii: ";") else {
            throw .malformed("the size of a chunk is not a number")
        }
        return size
    }

    private static func parseStatusLine(_ line: Bytes) throws(DirectHTTPError) -> HTTP1ResponseHead {
        // "HTTP/1.1 200 OK"; the reason is optional, and so is the space before it.
        guard line.count >= 12, line[..<7].elementsEqual(version) else {
            throw .malformed("it does not begin with a status line")
        }
        if line[9...].elementsEqual(okText), line[7] == UInt8(ascii: "1"), line[8] == UInt8(ascii: " ") {
            return HTTP1ResponseHead(response: okResponse, keepAlive: true)
        }
        let code = line[9..<12].reduce(0) { result, digit in result * 10 + Int(digit) - 48 }
        guard line[7] == UInt8(ascii: "1") || line[7] == UInt8(ascii: "0"), line[8] == UInt8(ascii: " "),
            line[9..<12].allSatisfy({ (48...57).contains($0) }), (100...999).contains(code),
            line.count == 12 || line[12] == UInt8(ascii: " ")
        else {
            throw .malformed("its status line cannot be read")
        }
        let reason = line.count > 13 ? String(decoding: line[13...], as: UTF8.self) : ""
        return HTTP1ResponseHead(
            response: HTTPResponse(status: HTTPResponse.Status(code: code, reasonPhrase: reason)),
            minorVersion: Int(line[7]) - 48,
            keepAlive: line[7] == UInt8(ascii: "1")
        )
    }

    private static let version = Array("HTTP/1.".utf8)
    private static let okText = Array("200 OK".utf8)
    /// The usual response, shared so that its strings are allocated once.
    private static let okResponse = HTTPResponse(status: .ok)

    /// Calls `body` with each field. Continued lines are joined with a space (RFC 9112 §5.2).
    private static func forEachField(
        in lines: inout Lines,
        limit: Int,
        memo: inout HTTP1HeadMemo,
        _ body: (HTTPField, FieldNames.Role?) throws(DirectHTTPError) -> Void
    ) throws(DirectHTTPError) {
        var count = 0
        while true {
            if count < limit, let known = memo.line(count, in: lines.rest), !lines.continues(behind: known.length) {
                count += 1
                lines.skip(known.length)
                try body(known.field, known.role)
                continue
            }
            let start = lines.rest
            guard let line = lines.next() else { break }
            guard let first = line.first, !isBlank(first), let colon = line.firstIndex(of: UInt8(ascii: ":")) else {
                throw .malformed("a header line has no name")
            }
            count += 1
            guard count <= limit else {
                throw DirectHTTPError(.responseTooLarge, "the response has more than \(limit) header fields")
            }
            guard let name = FieldNames.name(Bytes(rebasing: line[..<colon])) else {
                throw .malformed("a header field's name has a forbidden character")
            }
            let value = Bytes(rebasing: line[(colon + 1)...])
            guard lines.continues else {
                let field = try makeField(name.name, value)
                memo.note(count - 1, Bytes(rebasing: start[..<(start.count - lines.rest.count)]), field, name.role)
                try body(field, name.role)
                continue
            }
            var joined = Array(value)
            while lines.continues, let next = lines.next() {
                joined.append(UInt8(ascii: " "))
                joined += next
            }
            let field = joined.withUnsafeBytes { value in
                Result { () throws(DirectHTTPError) in try makeField(name.name, value) }
            }
            try body(try field.get(), name.role)
        }
    }

    private static func makeField(_ name: HTTPField.Name, _ value: Bytes) throws(DirectHTTPError) -> HTTPField {
        var (start, end) = (0, value.count)
        while start < end, isBlank(value[start]) { start += 1 }
        while start < end, isBlank(value[end - 1]) { end -= 1 }
        let value = Bytes(rebasing: value[start..<end])
        var isPlain = true
        for byte in value {
            guard byte != 0, byte != 0x0d else { throw .malformed("the field \(name) holds a control character") }
            if byte < 0x20 || byte > 0x7e { isPlain = false }
        }
        // Nearly all values are ASCII. Creating a field from bytes of unknown encoding costs more than the rest of the line.
        if isPlain { return HTTPField(name: name, value: String(decoding: value, as: UTF8.self)) }
        // Lenient: a cookie with a control character must reach the jar unchanged, so that the jar's rules reject it.
        return HTTPField(name: name, lenientValue: value)
    }

    /// Records the framing information of a field.
    private static func note(
        _ field: HTTPField,
        _ role: FieldNames.Role,
        in head: inout HTTP1ResponseHead
    ) throws(DirectHTTPError) {
        switch role {
        case .contentLength:
            // Fast path: nearly all servers send a single number.
            if head.contentLength == nil, let first = field.value.utf8.first, (48...57).contains(first),
                let length = Int64(field.value)
            {
                head.contentLength = length
                return
            }
            for part in field.value.split(separator: ",", omittingEmptySubsequences: false) {
                let digits = part.trimmingBlanks()
                guard !digits.isEmpty, digits.utf8.allSatisfy({ (48...57).contains($0) }), let length = Int64(digits),
                    head.contentLength ?? length == length
                else {
                    throw .malformed("Content-Length \"\(field.value)\" is not one number")
                }
                head.contentLength = length
            }
        case .transferEncoding:
            let codings = field.value.lowercased().split(separator: ",").map { $0.trimmingBlanks() }
            head.hasTransferCoding = true
            head.isChunked = codings.last == "chunked"
        case .connection:
            if field.value == "keep-alive" { return head.keepAlive = true }
            for option in field.value.lowercased().split(separator: ",").map({ $0.trimmingBlanks() }) {
                if option == "close" { head.isClosing = true }
                if option == "keep-alive" { head.keepAlive = true }
            }
        }
    }

    /// The lines of a block, without their line endings.
    private struct Lines {
        private(set) var rest: Bytes

        init(_ block: Bytes) { rest = block }

        mutating func skip(_ count: Int) { rest = Bytes(rebasing: rest[count...]) }

        /// Whether the next line continues the previous one.
        var continues: Bool { continues(behind: 0) }

        func continues(behind length: Int) -> Bool { length < rest.count && isBlank(rest[length]) }

        mutating func next() -> Bytes? {
            guard !rest.isEmpty else { return nil }
            let end = rest.firstIndex(of: UInt8(ascii: "\n"), from: 0) ?? rest.count
            let length = end > 0 && rest[end - 1] == UInt8(ascii: "\r") ? end - 1 : end
            defer { rest = Bytes(rebasing: rest[min(end + 1, rest.count)...]) }
            return Bytes(rebasing: rest[..<length])
        }
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
}

extension StringProtocol {
    /// The text without leading and trailing white space, which is not part of a field's value (RFC 9110 §5.5).
    package func trimmingBlanks() -> Substring {
        var text = Substring(self)
        while let first = text.utf8.first, first == 32 || first == 9 { text = text.dropFirst() }
        while let last = text.utf8.last, last == 32 || last == 9 { text = text.dropLast() }
        return text
    }
}
