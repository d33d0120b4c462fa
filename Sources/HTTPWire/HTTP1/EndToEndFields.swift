// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes
package import NIOCore

/// The header fields of a message as a proxy forwards them, and those that it handles itself (RFC 9110 §7.6).
package struct EndToEndFields {
    /// The fields to forward, in order, with line ends: without Host, framing and fields of one connection.
    package private(set) var lines = ByteBuffer()
    package private(set) var framing = HTTP1Framing()
    package private(set) var host: ByteBuffer?
    package private(set) var expectsContinue = false
    /// The value of Upgrade without HTTP/2, if Connection lists it. The proxy uses HTTP/1.1 on both sides, so it does
    /// not forward an upgrade to HTTP/2 (RFC 9113 §3.1).
    package private(set) var upgrade: String?
    package private(set) var proxyAuthorization: ByteBuffer?
    /// Whether Authorization or WWW-Authenticate uses NTLM or Negotiate, which authenticate the connection (RFC 4559 §6).
    package private(set) var authenticatesConnection = false
    /// The value of Max-Forwards (RFC 9110 §7.6.2); nil without the field, or if the method does not use it.
    package private(set) var maxForwards: Int64?

    /// Reads the field lines of a head. A message that other recipients might read differently is an error.
    ///
    /// - Parameters:
    ///   - fieldLimit: the maximum number of fields, and of names in Connection.
    ///   - isResponse: whether to repair errors that RFC 9112 allows a proxy to repair in responses.
    ///   - countsForwards: whether to interpret Max-Forwards, as for OPTIONS and TRACE.
    package init(
        _ head: inout HTTP1Lines,
        fieldLimit: Int,
        isResponse: Bool = false,
        countsForwards: Bool = false
    ) throws(HTTP1Error) {
        var all: [(name: Bytes, value: Bytes)] = []
        while let line = head.next() {
            guard all.count < fieldLimit else { throw .tooManyFields(fieldLimit) }
            let field = try HTTP1Lines.field(line, removesBlankBeforeColon: isResponse)
            guard field.name.allSatisfy(HTTPCharacters.isToken), field.value.allSatisfy(HTTPCharacters.isFieldValue)
            else { throw .malformed("a field line is malformed") }
            all.append(field)
            // Connection comes first: it names fields that are not forwarded.
            if field.name.equals("connection") || field.name.equals("proxy-connection") {
                try framing.noteConnection(field.value, nameLimit: fieldLimit)
            }
        }
        for field in all { try add(field.name, field.value, isResponse: isResponse, countsForwards: countsForwards) }
        if let ambiguity = framing.ambiguity { throw .malformed(ambiguity) }
        if !framing.connectionNames.contains("upgrade") { upgrade = nil }
    }

    private mutating func add(
        _ name: Bytes,
        _ value: Bytes,
        isResponse: Bool,
        countsForwards: Bool
    ) throws(HTTP1Error) {
        switch name.count {
        case 4 where name.equals("host"):
            guard host == nil else { throw .malformed("it has several Host fields") }
            host = ByteBuffer(bytes: value)
        case 2 where name.equals("te"): break
        case 6 where name.equals("expect"):
            expectsContinue = value.equals("100-continue")
            forward(name, value)
        case 7 where name.equals("upgrade"):
            let protocols = value.listElements.map(\.text).filter(Self.isForeign)
            if !protocols.isEmpty { upgrade = ([upgrade].compactMap { $0 } + protocols).joined(separator: ", ") }
        case 10 where name.equals("connection") || name.equals("keep-alive"): break
        case 12 where countsForwards && name.equals("max-forwards"):
            guard maxForwards == nil else { throw .malformed("it has several Max-Forwards fields") }
            guard let number = HTTP1Framing.number(value) else { throw .malformed("Max-Forwards is not a number") }
            maxForwards = number
        case 13 where name.equals("authorization"):
            if Self.isOfConnection(value) { authenticatesConnection = true }
            forward(name, value)
        case 14 where name.equals("content-length"):
            try framing.noteLength(value, allowsRepetition: isResponse)
        case 14 where name.equals("http2-settings"): break
        case 16 where name.equals("proxy-connection"): break
        case 16 where name.equals("www-authenticate"):
            if value.listElements.contains(where: Self.isOfConnection) { authenticatesConnection = true }
            forward(name, value)
        case 17 where name.equals("transfer-encoding"): framing.noteCodings(value)
        case 18 where name.equals("proxy-authenticate"): break
        case 19 where name.equals("proxy-authorization"):
            guard proxyAuthorization == nil else { throw .malformed("it has several Proxy-Authorization fields") }
            proxyAuthorization = ByteBuffer(bytes: value)
        default: forward(name, value)
        }
    }

    /// Whether a protocol in Upgrade is not HTTP.
    private static func isForeign(_ name: String) -> Bool {
        let name = name.lowercased()
        return name != "h2" && name != "h2c" && !name.hasPrefix("h2c-") && !name.hasPrefix("http/")
    }

    /// Whether a challenge or credentials use a scheme that authenticates the connection.
    private static func isOfConnection(_ value: Bytes) -> Bool {
        let scheme = Bytes(rebasing: value.prefix { !HTTPCharacters.isBlank($0) })
        return scheme.equals("ntlm") || scheme.equals("negotiate")
    }

    /// Adds a field to those that are forwarded, unless Connection lists it.
    private mutating func forward(_ name: Bytes, _ value: Bytes) {
        let connectionNames = framing.connectionNames
        if !connectionNames.isEmpty, connectionNames.contains(name.text.lowercased()) { return }
        lines.writeBytes(name)
        lines.writeStaticString(": ")
        lines.writeBytes(value)
        lines.writeStaticString("\r\n")
    }
}

extension EndToEndFields {
    /// Writes the fields and the framing.
    ///
    /// - Parameter includesFraming: false for a response that never has a body.
    package func write(to head: inout ByteBuffer, includesFraming: Bool = true) {
        head.writeImmutableBuffer(lines)
        if let maxForwards { head.writeField("Max-Forwards", value: String(maxForwards - 1)) }
        guard includesFraming else { return }
        if framing.isChunked {
            head.writeStaticString("Transfer-Encoding: chunked\r\n")
        } else if let length = framing.contentLength {
            head.writeField("Content-Length", value: String(length))
        }
    }

    /// Writes the Upgrade field and its Connection field, if there is an upgrade.
    package func writeUpgrade(to head: inout ByteBuffer) {
        guard let upgrade else { return }
        head.writeStaticString("Connection: Upgrade\r\n")
        head.writeField("Upgrade", value: upgrade)
    }

    package var httpFields: HTTPFields {
        var fields = HTTPFields()
        for line in lines.readableBytesView.split(separator: UInt8(ascii: "\n")) {
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")),
                let name = HTTPField.Name(String(decoding: line[..<colon], as: UTF8.self))
            else { continue }
            // Skip the colon and the space before the value, and the carriage return after it.
            fields.append(HTTPField(name: name, lenientValue: line[colon...].dropFirst(2).dropLast()))
        }
        return fields
    }

    /// The same message with other fields to forward.
    package func replacing(_ fields: HTTPFields) -> EndToEndFields {
        var copy = self
        copy.lines.clear()
        for field in fields { copy.lines.writeField(field) }
        return copy
    }
}
