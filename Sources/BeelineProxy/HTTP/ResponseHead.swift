// SPDX-License-Identifier: Apache-2.0

import DirectHTTP
import NIOCore

/// The head of a response to a forwarded request.
struct ResponseHead {
    let status: Int
    let framing: BodyFraming
    /// Whether the server's connection can be reused.
    let keepsAlive: Bool
    var fields: MessageFields
    private let reason: ByteBuffer

    static let lengthLimit = 256 * 1024
    static let fieldLimit = 1024

    /// Parses a head including its empty line.
    ///
    /// - Parameters:
    ///   - head: the bytes.
    ///   - method: the request's method, which decides whether there is a body.
    /// - Throws: ``Refusal`` with status 502.
    init(_ head: UnsafeRawBufferPointer, to method: String) throws(Refusal) {
        var lines = HeadLines(head)
        // HTTP/1.x SP 3DIGIT [SP reason]
        guard let line = lines.next(), line.count >= 12, line.prefix(7).elementsEqual("HTTP/1.".utf8) else {
            throw .badOrigin("its first line is not a status line")
        }
        let bytes = UnsafeRawBufferPointer(rebasing: line)
        let digits = bytes[9..<12].map { Int($0) - 48 }
        guard bytes[7] == UInt8(ascii: "1") || bytes[7] == UInt8(ascii: "0"), bytes[8] == 0x20,
            digits.allSatisfy({ (0...9).contains($0) }), digits[0] > 0, bytes.count == 12 || bytes[12] == 0x20,
            bytes.dropFirst(12).allSatisfy(Characters.isFieldValue)
        else { throw .badOrigin("its first line is not a status line") }
        status = digits[0] * 100 + digits[1] * 10 + digits[2]
        reason = ByteBuffer(bytes: bytes.dropFirst(13))
        do throws(MessageFields.Fault) {
            fields = try MessageFields(&lines, fieldLimit: Self.fieldLimit, isResponse: true)
        } catch {
            throw .badOrigin(error.message)
        }
        let isOld = bytes[7] == UInt8(ascii: "0")
        // RFC 9112 §6.3.
        if method == "HEAD" || status < 200 || status == 204 || status == 304 {
            framing = .none
        } else if fields.isChunked {
            framing = .chunked
        } else {
            framing = fields.contentLength.map { .length($0) } ?? .untilClose
        }
        keepsAlive =
            framing != .untilClose && !(isOld && fields.isChunked)
            && (isOld ? fields.keepsAlive && !fields.closes : !fields.closes)
    }

    /// Whether the protocol that the server switches to was offered by the request (RFC 9110 §7.8).
    func changesProtocol(asAskedBy request: MessageFields) -> Bool {
        guard let upgrade = fields.upgrade, let asked = request.upgrade else { return false }
        let names = { (list: String) in Set(list.lowercased().split(separator: ",").map { $0.trimmingBlanks() }) }
        return names(upgrade).isSubset(of: names(asked))
    }

    /// Whether it is an interim response, which another response follows (RFC 9110 §15.2).
    var isInterim: Bool { status < 200 && status != 101 }

    /// The head for the client.
    ///
    /// - Parameters:
    ///   - closes: whether the connection closes after the response.
    ///   - saysKeepAlive: whether to send `Connection: keep-alive` if it does not.
    ///   - addsVia: whether to add a Via field.
    ///   - saysFraming: false if the body is forwarded without its chunk framing.
    func forwarded(closes: Bool, saysKeepAlive: Bool, addsVia: Bool, saysFraming: Bool = true) -> ByteBuffer {
        var head = ByteBuffer()
        head.reserveCapacity(fields.endToEnd.readableBytes + 192)
        head.writeStaticString("HTTP/1.1 ")
        head.writeString(String(status))
        head.writeStaticString(" ")
        head.writeImmutableBuffer(reason)
        head.writeStaticString("\r\n")
        // These statuses have neither Content-Length nor Transfer-Encoding (RFC 9110 §8.6, RFC 9112 §6.1).
        fields.write(to: &head, saysFraming: saysFraming && status >= 200 && status != 204)
        if status == 101 {
            fields.writeUpgrade(to: &head)
        } else if !isInterim {
            if closes {
                head.writeStaticString("Connection: close\r\n")
            } else if saysKeepAlive {
                head.writeStaticString("Connection: keep-alive\r\n")
            }
        }
        if addsVia { head.writeStaticString("Via: 1.1 beeline\r\n") }
        head.writeStaticString("\r\n")
        return head
    }
}
