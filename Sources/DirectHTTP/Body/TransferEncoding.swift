// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Names

/// The encoding of a part of a multipart body, named by its `Content-Transfer-Encoding` (RFC 2045 §6).
package enum TransferEncoding: String, Hashable, Sendable, CaseIterable {
    /// The bytes as they are.
    case binary
    /// The bytes as they are, in lines.
    case eightBit = "8bit"
    /// The bytes as they are. A byte over 127 fails the request with `bodySourceFailed`.
    case sevenBit = "7bit"
    /// Base64 (RFC 2045 §6.8), in lines of 76 characters.
    case base64
    /// Quoted-printable (RFC 2045 §6.7), in lines of at most 76 characters.
    case quotedPrintable = "quoted-printable"
}

/// Encodes the pieces of one body. It keeps less than a line between pieces.
struct TransferEncoder {
    /// The longest line, without its end.
    private static let lineLength = 76

    private let encoding: TransferEncoding
    /// The bytes that do not fill a line of Base64 yet, or white space that may end a line.
    private var held: [UInt8] = []
    /// The length of the current line.
    private var column = 0

    init(_ encoding: TransferEncoding) { self.encoding = encoding }

    /// The length of an encoded body; nil if it depends on the content.
    static func length(of count: Int64, in encoding: TransferEncoding) -> Int64? {
        switch encoding {
        case .binary, .eightBit, .sevenBit: return count
        case .quotedPrintable: return count == 0 ? 0 : nil
        case .base64:
            guard count > 0 else { return 0 }
            let (digits, overflows) = ((count - 1) / 3 + 1).multipliedReportingOverflow(by: 4)
            guard !overflows else { return nil }
            let (sum, isTooLong) = digits.addingReportingOverflow((digits - 1) / Int64(lineLength) * 2)
            return isTooLong ? nil : sum
        }
    }

    /// Encodes a piece.
    ///
    /// - Throws: `bodySourceFailed` for a byte that the encoding does not allow.
    mutating func encode(_ bytes: some Sequence<UInt8>) throws(DirectHTTPError) -> [UInt8] {
        var result: [UInt8] = []
        for byte in bytes {
            switch encoding {
            case .binary, .eightBit: result.append(byte)
            case .sevenBit:
                guard byte < 0x80 else {
                    throw DirectHTTPError(.bodySourceFailed, "a part of the form has a byte that 7bit does not allow")
                }
                result.append(byte)
            case .base64:
                held.append(byte)
                if held.count == Self.lineLength / 4 * 3 { appendLine(to: &result) }
            case .quotedPrintable: quote(byte, into: &result)
            }
        }
        return result
    }

    /// Returns the end of the body.
    mutating func finish() -> [UInt8] {
        var result: [UInt8] = []
        switch encoding {
        case .binary, .eightBit, .sevenBit: break
        case .base64: if !held.isEmpty { appendLine(to: &result) }
        case .quotedPrintable:
            // White space at the end of the text would be lost.
            for byte in held { append(escaped: byte, to: &result) }
            held = []
        }
        return result
    }

    // MARK: Base64

    private mutating func appendLine(to result: inout [UInt8]) {
        if column > 0 { breakLine("\r\n", in: &result) }
        result += Base64.encode(held).utf8
        column = Self.lineLength
        held.removeAll(keepingCapacity: true)
    }

    // MARK: Quoted-printable

    /// Encodes a byte. White space and CR are held back, because the next byte decides how they are encoded.
    private mutating func quote(_ byte: UInt8, into result: inout [UInt8]) {
        if byte == 0x0a, held.last == 0x0d {
            held.removeLast()
            for white in held { append(escaped: white, to: &result) }
            held = []
            return breakLine("\r\n", in: &result)
        }
        let isHeld = byte == 0x0d || byte == 0x20 || byte == 0x09
        if !held.isEmpty {
            // White space before CR may end a line.
            if byte == 0x0d, held == [0x20] || held == [0x09] { return held.append(byte) }
            for white in held { append(white, to: &result) }
            held = []
        }
        if isHeld { held.append(byte) } else { append(byte, to: &result) }
    }

    private mutating func append(_ byte: UInt8, to result: inout [UInt8]) {
        let isPlain = byte == 0x09 || (0x20...0x7e).contains(byte) && byte != UInt8(ascii: "=")
        guard isPlain else { return append(escaped: byte, to: &result) }
        makeRoom(for: 1, in: &result)
        result.append(byte)
        column += 1
    }

    private mutating func append(escaped byte: UInt8, to result: inout [UInt8]) {
        makeRoom(for: 3, in: &result)
        result += [UInt8(ascii: "="), PercentEncoding.hexDigit(byte >> 4), PercentEncoding.hexDigit(byte & 15)]
        column += 3
    }

    /// Ends the line softly if the text and the `=` of a soft end do not fit.
    private mutating func makeRoom(for count: Int, in result: inout [UInt8]) {
        if column + count > Self.lineLength - 1 { breakLine("=\r\n", in: &result) }
    }

    private mutating func breakLine(_ end: String, in result: inout [UInt8]) {
        result += Array(end.utf8)
        column = 0
    }
}

extension RequestBody {
    package func encoded(as encoding: TransferEncoding) -> RequestBody {
        let source = StreamSource(
            isReplayable: isReplayable,
            measure: { () throws(DirectHTTPError) -> Int64? in
                try contentLength().flatMap { TransferEncoder.length(of: $0, in: encoding) }
            },
            forEach: { take in
                var encoder = TransferEncoder(encoding)
                try await forEachPiece { piece in
                    let bytes = try encoder.encode(piece.readableBytesView)
                    if !bytes.isEmpty { try await take(ByteBuffer(bytes: bytes)) }
                }
                let rest = encoder.finish()
                if !rest.isEmpty { try await take(ByteBuffer(bytes: rest)) }
            }
        )
        return RequestBody(storage: .stream(source), contentType: contentType)
    }
}
