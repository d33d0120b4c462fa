// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import NIOCore

/// A response head with what its fields say about framing (RFC 9112 §6).
struct HTTP1ResponseHead {
    var response: HTTPResponse
    var contentLength: Int64?
    var hasTransferCoding = false
    /// Whether the last transfer coding is `chunked`.
    var isChunked = false
    var keepAlive: Bool
}

/// The grammar of a head (RFC 9112 §4, §5): a status line, then fields, each a line.
enum HTTP1HeadParser {
    typealias Bytes = Slice<UnsafeRawBufferPointer>

    static func parseResponse(_ block: ByteBuffer, fieldCount: Int) throws(DirectHTTPError) -> HTTP1ResponseHead {
        do {
            return try block.withUnsafeReadableBytes { bytes in
                var rest = bytes[...]
                var head = try parseStatusLine(takeLine(&rest))
                try forEachField(in: rest, limit: fieldCount) { name, value in
                    let field = try makeField(name, value)
                    try noteFraming(field, in: &head)
                    head.response.headerFields.append(field)
                }
                return head
            }
        } catch let error as DirectHTTPError {
            throw error
        } catch {
            throw .malformed("\(error)")
        }
    }

    static func parseFields(_ block: ByteBuffer, fieldCount: Int) throws(DirectHTTPError) -> HTTPFields {
        do {
            return try block.withUnsafeReadableBytes { bytes in
                var fields = HTTPFields()
                try forEachField(in: bytes[...], limit: fieldCount) { name, value in
                    fields.append(try makeField(name, value))
                }
                return fields
            }
        } catch let error as DirectHTTPError {
            throw error
        } catch {
            throw .malformed("\(error)")
        }
    }

    /// `1A;extension` (RFC 9112 §7.1); extensions are ignored.
    static func parseChunkSize(_ line: ByteBuffer) throws(DirectHTTPError) -> Int64 {
        var size: Int64 = 0
        var digits = 0
        var tail = line.readableBytesView[...]
        while let byte = tail.first, let nibble = hexadecimal(byte) {
            digits += 1
            guard digits <= 15 else { throw .malformed("the size of a chunk has too many digits") }
            size = size << 4 | nibble
            tail = tail.dropFirst()
        }
        let after = tail.first { !isBlank($0) }
        guard digits > 0, after == nil || after == UInt8(ascii: ";") else {
            throw .malformed("the size of a chunk is not a number")
        }
        return size
    }

    private static func parseStatusLine(_ line: Bytes) throws(DirectHTTPError) -> HTTP1ResponseHead {
        // "HTTP/1.1 200 OK"; the reason may be missing, and its space too.
        guard line.count >= 12, line.starts(with: "HTTP/1.".utf8) else {
            throw .malformed("it does not begin with a status line")
        }
        let at = { (offset: Int) in line[line.startIndex + offset] }
        let code = (9..<12).reduce(0) { result, offset in result * 10 + Int(at(offset)) - 48 }
        guard at(7) == UInt8(ascii: "1") || at(7) == UInt8(ascii: "0"), at(8) == UInt8(ascii: " "),
            (9..<12).allSatisfy({ (48...57).contains(at($0)) }), (100...999).contains(code),
            line.count == 12 || at(12) == UInt8(ascii: " ")
        else {
            throw .malformed("its status line cannot be read")
        }
        let reason = line.count > 13 ? String(decoding: line[(line.startIndex + 13)...], as: UTF8.self) : ""
        return HTTP1ResponseHead(
            response: HTTPResponse(status: HTTPResponse.Status(code: code, reasonPhrase: reason)),
            keepAlive: at(7) == UInt8(ascii: "1")
        )
    }

    /// Calls `body` with each field's name and value; a value continued on the next line is joined (RFC 9112 §5.2).
    private static func forEachField(
        in block: Bytes,
        limit: Int,
        _ body: (Bytes, Bytes) throws -> Void
    ) throws {
        var rest = block
        var count = 0
        while !rest.isEmpty {
            let line = takeLine(&rest)
            guard let first = line.first, !isBlank(first), let colon = line.firstIndex(of: UInt8(ascii: ":")) else {
                throw DirectHTTPError.malformed("a header line has no name")
            }
            count += 1
            guard count <= limit else {
                throw DirectHTTPError(.responseTooLarge, "the response has more than \(limit) header fields")
            }
            guard let next = rest.first, isBlank(next) else {
                try body(line[..<colon], line[(colon + 1)...])
                continue
            }
            var joined = Array(line[(colon + 1)...])
            while let next = rest.first, isBlank(next) {
                joined.append(UInt8(ascii: " "))
                joined += takeLine(&rest)
            }
            try joined.withUnsafeBytes { try body(line[..<colon], $0[...]) }
        }
    }

    private static func makeField(_ name: Bytes, _ value: Bytes) throws(DirectHTTPError) -> HTTPField {
        guard let fieldName = FieldNames.name(name) else {
            throw .malformed("a header field's name has a character that no name has")
        }
        var value = value
        while let byte = value.first, isBlank(byte) { value = value.dropFirst() }
        while let byte = value.last, isBlank(byte) { value = value.dropLast() }
        guard !value.contains(where: { $0 == 0 || $0 == 0x0d }) else {
            throw .malformed("the field \(fieldName) holds a control character")
        }
        // Lenient: a cookie with a control character must reach the jar as it came, to be refused there by the rules.
        return HTTPField(name: fieldName, lenientValue: value)
    }

    private static func noteFraming(
        _ field: HTTPField,
        in head: inout HTTP1ResponseHead
    ) throws(DirectHTTPError) {
        switch field.name {
        case .contentLength:
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
            for option in field.value.lowercased().split(separator: ",").map({ $0.trimmingBlanks() }) {
                if option == "close" { head.keepAlive = false }
                if option == "keep-alive" { head.keepAlive = true }
            }
        default:
            break
        }
    }

    /// Cuts the first line off, without its end.
    private static func takeLine(_ rest: inout Bytes) -> Bytes {
        let end = rest.firstIndex(of: UInt8(ascii: "\n")) ?? rest.endIndex
        var line = rest[..<end]
        rest = end == rest.endIndex ? rest[end...] : rest[(end + 1)...]
        if line.last == UInt8(ascii: "\r") { line = line.dropLast() }
        return line
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }

    private static func hexadecimal(_ byte: UInt8) -> Int64? {
        switch byte {
        case 48...57: Int64(byte - 48)
        case 65...70: Int64(byte - 55)
        case 97...102: Int64(byte - 87)
        default: nil
        }
    }
}

extension StringProtocol {
    func trimmingBlanks() -> Substring {
        var text = Substring(self)
        while let first = text.utf8.first, first == 32 || first == 9 { text = text.dropFirst() }
        while let last = text.utf8.last, last == 32 || last == 9 { text = text.dropLast() }
        return text
    }
}
