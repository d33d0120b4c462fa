// SPDX-License-Identifier: Apache-2.0

import DirectHTTP
import HTTPWire
import NIOCore

/// The head of a response to a forwarded request.
struct ResponseHead {
    let status: Int
    let framing: HTTP1BodyFraming
    /// Whether the server's connection can be reused.
    let keepsAlive: Bool
    var fields: EndToEndFields
    private let reason: ByteBuffer

    static let lengthLimit = 256 * 1024
    static let fieldLimit = 1024

    /// - Parameter method: the request's method, which decides whether there is a body.
    init(_ head: HTTP1Head, to method: String) throws(HTTP1Error) {
        self = try head.withLines { lines throws(HTTP1Error) in try ResponseHead(&lines, to: method) }
    }

    private init(_ lines: inout HTTP1Lines, to method: String) throws(HTTP1Error) {
        let line = try HTTP1StatusLine(lines.next())
        status = line.code
        reason = ByteBuffer(bytes: line.reason)
        fields = try EndToEndFields(&lines, fieldLimit: Self.fieldLimit, isResponse: true)
        framing = fields.framing.ofResponse(toHead: method == "HEAD", status: status)
        keepsAlive =
            framing != .untilClose && !(line.minorVersion == 0 && fields.framing.isChunked)
            && fields.framing.keepsConnection(minorVersion: line.minorVersion)
    }

    /// Whether the protocol that the server switches to was offered by the request (RFC 9110 §7.8).
    func changesProtocol(asAskedBy request: EndToEndFields) -> Bool {
        guard let upgrade = fields.upgrade, let asked = request.upgrade else { return false }
        return Set(upgrade.lowercased().listElements).isSubset(of: asked.lowercased().listElements)
    }

    /// Whether it is an interim response, which another response follows (RFC 9110 §15.2).
    var isInterim: Bool { status < 200 && status != 101 }

    /// The head for the client.
    ///
    /// - Parameter includesFraming: false if the body is forwarded without its chunk framing.
    func forwarded(closes: Bool, saysKeepAlive: Bool, addsVia: Bool, includesFraming: Bool = true) -> ByteBuffer {
        var head = ByteBuffer()
        head.reserveCapacity(fields.lines.readableBytes + 192)
        head.writeStaticString("HTTP/1.1 ")
        head.writeString(String(status))
        head.writeStaticString(" ")
        head.writeImmutableBuffer(reason)
        head.writeStaticString("\r\n")
        // These statuses have neither Content-Length nor Transfer-Encoding (RFC 9110 §8.6, RFC 9112 §6.1).
        fields.write(to: &head, includesFraming: includesFraming && status >= 200 && status != 204)
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
