// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes
import NIOCore

/// The head of a response with swift-http-types' fields, and its data about the body and the connection.
package struct HTTP1ResponseHead {
    package let response: HTTPResponse
    /// 0 for `HTTP/1.0`, 1 for `HTTP/1.1`.
    package let minorVersion: Int
    let framing: HTTP1Framing

    /// - Parameter isOfConnect: whether it answers CONNECT. A success then has no framing (RFC 9110 §9.3.6).
    package init(_ head: HTTP1Head, fieldLimit: Int, isOfConnect: Bool = false) throws(HTTP1Error) {
        self = try head.withLines { lines throws(HTTP1Error) in
            let status = try HTTP1StatusLine(lines.next())
            var framing: HTTP1Framing? = isOfConnect && status.code / 100 == 2 ? nil : HTTP1Framing()
            let fields = try Self.fields(&lines, limit: fieldLimit, framing: &framing)
            let code = HTTPResponse.Status(code: status.code, reasonPhrase: status.reason.text)
            return HTTP1ResponseHead(
                response: HTTPResponse(status: code, headerFields: fields),
                minorVersion: status.minorVersion,
                framing: framing ?? HTTP1Framing()
            )
        }
    }

    private init(response: HTTPResponse, minorVersion: Int, framing: HTTP1Framing) {
        self.response = response
        self.minorVersion = minorVersion
        self.framing = framing
    }

    static func trailers(_ section: ByteBuffer, fieldLimit: Int) throws(HTTP1Error) -> HTTPFields {
        try HTTP1Head(raw: section).withLines { lines throws(HTTP1Error) in
            // A trailer never affects the framing, whatever its name (RFC 9110 §6.5.1).
            var ignored: HTTP1Framing?
            return try fields(&lines, limit: fieldLimit, framing: &ignored)
        }
    }

    /// The complete lines before the first unusable line of an incomplete or malformed head.
    static func usableLines(of raw: ByteBuffer, fieldLimit: Int) -> ByteBuffer {
        let length = raw.withUnsafeReadableBytes { bytes in
            var framing = HTTP1Framing()
            var (end, count) = (0, 0)
            while count <= fieldLimit, let feed = bytes.firstIndex(of: UInt8(ascii: "\n"), from: end) {
                var lines = HTTP1Lines(Bytes(rebasing: bytes[end...feed]))
                guard isUsable(lines.next(), isFirst: end == 0, nameLimit: fieldLimit, &framing) else { break }
                end = feed + 1
                count += 1
            }
            return end
        }
        return raw.getSlice(at: raw.readerIndex, length: length) ?? ByteBuffer()
    }

    private static func isUsable(
        _ line: Bytes?,
        isFirst: Bool,
        nameLimit: Int,
        _ framing: inout HTTP1Framing
    ) -> Bool {
        if isFirst { return (try? HTTP1StatusLine(line)) != nil }
        guard let line, let first = line.first, !HTTPCharacters.isBlank(first) else { return true }
        guard let (name, value) = try? HTTP1Lines.field(line), let fieldName = HTTPField.Name(name.text),
            (try? field(fieldName, value)) != nil
        else { return false }
        return (try? framing.note(name, value: value, nameLimit: nameLimit)) != nil && framing.bodyCoding == nil
    }

    private static func fields(
        _ lines: inout HTTP1Lines,
        limit: Int,
        framing: inout HTTP1Framing?
    ) throws(HTTP1Error) -> HTTPFields {
        var fields = HTTPFields()
        fields.reserveCapacity(16)
        while let line = lines.next() {
            guard fields.count < limit else { throw .tooManyFields(limit) }
            let (name, value) = try HTTP1Lines.field(line)
            guard let fieldName = HTTPField.Name(name.text) else {
                throw .malformed("a header field's name has a forbidden character")
            }
            fields.append(try field(fieldName, value))
            try framing?.note(name, value: value, nameLimit: limit)
        }
        return fields
    }

    private static func field(_ name: HTTPField.Name, _ value: Bytes) throws(HTTP1Error) -> HTTPField {
        var isPlain = true
        for byte in value {
            guard byte != 0, byte != 0x0d else { throw .malformed("the field \(name) holds a control character") }
            if byte < 0x20 || byte > 0x7e { isPlain = false }
        }
        // Nearly all values are ASCII. Creating a field from bytes of unknown encoding costs more than the rest of the line.
        if isPlain { return HTTPField(name: name, value: value.text) }
        // Lenient: a cookie with a control character must reach the jar unchanged, so that the jar's rules reject it.
        return HTTPField(name: name, lenientValue: value)
    }
}
