// SPDX-License-Identifier: Apache-2.0

package import NIOCore

/// The lines of a head or of a trailer section, one after the other (RFC 9112 §2.1, §5).
package struct HTTP1Lines {
    private var rest: Bytes

    /// - Parameter text: the lines, with or without the empty line at their end.
    package init(_ text: Bytes) { rest = text }

    /// The next line without its line end; nil at the empty line.
    package mutating func next() -> Bytes? {
        guard !rest.isEmpty else { return nil }
        let end = rest.firstIndex(of: UInt8(ascii: "\n"), from: 0) ?? rest.count
        let length = end > 0 && rest[end - 1] == UInt8(ascii: "\r") ? end - 1 : end
        defer { rest = Bytes(rebasing: rest[min(end + 1, rest.count)...]) }
        return length > 0 ? Bytes(rebasing: rest[..<length]) : nil
    }

    /// Splits a field line into its name and its value.
    ///
    /// - Parameter removesBlankBeforeColon: whether to remove white space before the colon, as a recipient of responses may do
    ///   (RFC 9112 §5.1).
    package static func field(
        _ line: Bytes,
        removesBlankBeforeColon: Bool = false
    ) throws(HTTP1Error) -> (name: Bytes, value: Bytes) {
        guard let colon = line.firstIndex(of: UInt8(ascii: ":"), from: 0) else {
            throw .malformed("a header line has no colon")
        }
        var name = Bytes(rebasing: line[..<colon])
        if removesBlankBeforeColon {
            while let last = name.last, HTTPCharacters.isBlank(last) { name = Bytes(rebasing: name.dropLast()) }
        }
        guard !name.isEmpty else { throw .malformed("a header line has no name") }
        return (name, Bytes(rebasing: line[(colon + 1)...]).trimmed)
    }
}

/// The first line of a response (RFC 9112 §4).
package struct HTTP1StatusLine {
    /// 100 to 999.
    package let code: Int
    /// 0 for `HTTP/1.0`, 1 for `HTTP/1.1`.
    package let minorVersion: Int
    /// The text after the code; empty without one.
    package let reason: Bytes

    /// The first bytes of each status line.
    package static let start = Array("HTTP/1.".utf8)

    /// Whether the bytes received so far can be the beginning of a status line. The end of other bytes may never come.
    package static func canBegin(with bytes: ByteBuffer) -> Bool {
        bytes.readableBytesView.starts(with: start.prefix(min(bytes.readableBytes, 5)))
    }

    package init(_ line: Bytes?) throws(HTTP1Error) {
        guard let line, line.starts(with: Self.start[..<5]) else {
            throw .malformed("it does not begin with a status line")
        }
        guard line.count >= 12, line[..<7].elementsEqual(Self.start) else {
            throw .unsupportedVersion("its status line cannot be read")
        }
        // "HTTP/1.1 200 OK"; the reason is optional, and so is the space before it.
        let digits = line[9..<12]
        guard line[7] == UInt8(ascii: "1") || line[7] == UInt8(ascii: "0"), line[8] == UInt8(ascii: " "),
            digits.allSatisfy(HTTPCharacters.isDigit), line[9] != UInt8(ascii: "0"),
            line.count == 12 || line[12] == UInt8(ascii: " ")
        else { throw .unsupportedVersion("its status line cannot be read") }
        guard line[12...].allSatisfy(HTTPCharacters.isFieldValue) else {
            throw .malformed("its status line holds a control character")
        }
        code = digits.reduce(0) { result, digit in result * 10 + Int(digit) - 48 }
        minorVersion = Int(line[7]) - 48
        reason = Bytes(rebasing: line.dropFirst(13))
    }
}

/// The first line of a request (RFC 9112 §3).
package struct HTTP1RequestLine {
    package let method: String
    /// The target as written; not empty.
    package let target: Bytes
    /// 0 for `HTTP/1.0`, 1 for `HTTP/1.1`.
    package let minorVersion: Int

    /// The maximum length of a method, in bytes.
    private static let methodLimit = 64

    package init(_ line: Bytes?) throws(HTTP1Error) {
        guard let line else { throw .malformed("it has no request line") }
        let parts = line.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
            .map { Bytes(rebasing: $0) }
        guard parts.count == 3, !parts[0].isEmpty, parts[0].allSatisfy(HTTPCharacters.isToken),
            parts[0].count <= Self.methodLimit
        else { throw .malformed("the request line is not METHOD TARGET VERSION") }
        guard !parts[1].isEmpty, parts[1].allSatisfy(HTTPCharacters.isTarget) else {
            throw .malformed("the target is malformed")
        }
        switch parts[2].text {
        case "HTTP/1.1": minorVersion = 1
        case "HTTP/1.0": minorVersion = 0
        default: throw .malformed("the version is neither HTTP/1.1 nor HTTP/1.0")
        }
        method = parts[0].text
        target = parts[1]
    }
}
