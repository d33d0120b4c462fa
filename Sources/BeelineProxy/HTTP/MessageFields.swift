// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Names

/// The header fields of a message: the parsed fields that a proxy handles, and the fields that it forwards.
struct MessageFields {
    /// The reason why the fields are refused.
    struct Fault: Error, Equatable {
        let message: String
        init(_ message: String) { self.message = message }
    }

    /// The end-to-end fields in order, with line endings: without Host, framing and hop-by-hop fields (RFC 9110 §7.6.1).
    var endToEnd = ByteBuffer()
    private(set) var host: ByteBuffer?
    private(set) var contentLength: Int64?
    private(set) var isChunked = false
    private(set) var closes = false
    private(set) var keepsAlive = false
    private(set) var expectsContinue = false
    /// The value of Upgrade without HTTP/2, if Connection lists it. The proxy speaks HTTP/1.1 on both sides, so it does not
    /// forward an upgrade to HTTP/2 (RFC 9113 §3.1).
    private(set) var upgrade: String?
    private(set) var proxyAuthorization: ByteBuffer?
    /// Whether Authorization or WWW-Authenticate uses NTLM or Negotiate, which authenticate the connection (RFC 4559 §6).
    private(set) var authenticatesConnection = false

    /// The value of Max-Forwards (RFC 9110 §7.6.2); nil without the field, or if the method does not use it.
    private(set) var maxForwards: Int64?

    /// The names that Connection lists, in lower case. Such fields and trailers are hop-by-hop.
    private(set) var listed: Set<String> = []
    private let isResponse: Bool
    private let countsForwards: Bool

    /// Parses the remaining lines.
    ///
    /// - Parameters:
    ///   - lines: the lines.
    ///   - fieldLimit: the maximum number of fields, and of names in Connection.
    ///   - isResponse: whether to repair errors that RFC 9112 allows a proxy to repair in responses.
    ///   - countsForwards: whether to interpret Max-Forwards, as for OPTIONS and TRACE.
    init(
        _ lines: inout HeadLines,
        fieldLimit: Int,
        isResponse: Bool = false,
        countsForwards: Bool = false
    ) throws(Fault) {
        self.isResponse = isResponse
        self.countsForwards = countsForwards
        var all: [(name: Bytes, value: Bytes)] = []
        while let line = lines.next() {
            guard all.count < fieldLimit else { throw Fault("it has more than \(fieldLimit) fields") }
            guard let field = HeadLines.field(line, allowsBlankBeforeColon: isResponse) else {
                throw Fault("a field line is malformed")
            }
            all.append(field)
            if HeadLines.is(field.name, "connection") || HeadLines.is(field.name, "proxy-connection") {
                try connection(field.value, limit: fieldLimit)
            }
        }
        for field in all { try add(field.name, field.value) }
        if isChunked, contentLength != nil { throw Fault("it has two lengths, Content-Length and Transfer-Encoding") }
        if !listed.contains("upgrade") { upgrade = nil }
    }

    /// Writes the end-to-end fields and the framing.
    ///
    /// - Parameters:
    ///   - head: the destination buffer.
    ///   - saysFraming: false for a response that never has a body.
    func write(to head: inout ByteBuffer, saysFraming: Bool = true) {
        head.writeImmutableBuffer(endToEnd)
        if let maxForwards {
            head.writeStaticString("Max-Forwards: ")
            head.writeString(String(maxForwards - 1))
            head.writeStaticString("\r\n")
        }
        guard saysFraming else { return }
        if isChunked {
            head.writeStaticString("Transfer-Encoding: chunked\r\n")
        } else if let contentLength {
            head.writeStaticString("Content-Length: ")
            head.writeString(String(contentLength))
            head.writeStaticString("\r\n")
        }
    }

    /// Writes the Upgrade field and its Connection field, if there is an upgrade.
    func writeUpgrade(to head: inout ByteBuffer) {
        guard let upgrade else { return }
        head.writeStaticString("Connection: Upgrade\r\nUpgrade: ")
        head.writeString(upgrade)
        head.writeStaticString("\r\n")
    }

    private mutating func connection(_ value: Bytes, limit: Int) throws(Fault) {
        for element in HeadLines.elements(value) {
            if HeadLines.is(element, "close") {
                closes = true
            } else if HeadLines.is(element, "keep-alive") {
                keepsAlive = true
            } else {
                guard listed.count < limit else { throw Fault("Connection lists more than \(limit) names") }
                listed.insert(String(decoding: element, as: UTF8.self).lowercased())
            }
        }
    }

    private mutating func add(_ name: Bytes, _ value: Bytes) throws(Fault) {
        switch name.count {
        case 4 where HeadLines.is(name, "host"):
            guard host == nil else { throw Fault("it has several Host fields") }
            host = ByteBuffer(bytes: value)
        case 2 where HeadLines.is(name, "te"): break
        case 6 where HeadLines.is(name, "expect"):
            expectsContinue = HeadLines.is(value, "100-continue")
            forward(name, value)
        case 7 where HeadLines.is(name, "upgrade"):
            let protocols = HeadLines.elements(value).map { String(decoding: $0, as: UTF8.self) }.filter(Self.isForeign)
            if !protocols.isEmpty { upgrade = ([upgrade].compactMap { $0 } + protocols).joined(separator: ", ") }
        case 10 where HeadLines.is(name, "connection") || HeadLines.is(name, "keep-alive"): break
        case 12 where countsForwards && HeadLines.is(name, "max-forwards"):
            guard maxForwards == nil else { throw Fault("it has several Max-Forwards fields") }
            maxForwards = try Self.number(value, of: "Max-Forwards")
        case 13 where HeadLines.is(name, "authorization"):
            if Self.isOfConnection(value) { authenticatesConnection = true }
            forward(name, value)
        case 14 where HeadLines.is(name, "content-length"): try length(value)
        case 14 where HeadLines.is(name, "http2-settings"): break
        case 16 where HeadLines.is(name, "proxy-connection"): break
        case 16 where HeadLines.is(name, "www-authenticate"):
            if HeadLines.elements(value).contains(where: Self.isOfConnection) { authenticatesConnection = true }
            forward(name, value)
        case 17 where HeadLines.is(name, "transfer-encoding"):
            // Only `chunked`, once and alone, which all servers interpret in the same way.
            guard !isChunked, HeadLines.is(value, "chunked") else {
                throw Fault("Transfer-Encoding is something other than chunked")
            }
            isChunked = true
        case 18 where HeadLines.is(name, "proxy-authenticate"): break
        case 19 where HeadLines.is(name, "proxy-authorization"):
            guard proxyAuthorization == nil else { throw Fault("it has several Proxy-Authorization fields") }
            proxyAuthorization = ByteBuffer(bytes: value)
        default: forward(name, value)
        }
    }

    private static func isForeign(_ name: String) -> Bool {
        let name = name.lowercased()
        return !name.isEmpty && name != "h2" && name != "h2c" && !name.hasPrefix("h2c-") && !name.hasPrefix("http/")
    }

    /// Whether a challenge or credentials use a scheme that authenticates the connection.
    private static func isOfConnection(_ value: Bytes) -> Bool {
        let scheme = value.prefix { $0 != 0x20 && $0 != 0x09 }
        return HeadLines.is(scheme, "ntlm") || HeadLines.is(scheme, "negotiate")
    }

    private mutating func length(_ value: Bytes) throws(Fault) {
        var rest = value
        repeat {
            // A response may repeat the same length (RFC 9112 §6.3).
            let comma = isResponse ? rest.firstIndex(of: UInt8(ascii: ",")) ?? rest.endIndex : rest.endIndex
            let length = try Self.number(HeadLines.trimmed(rest[..<comma]), of: "Content-Length")
            guard contentLength == nil || isResponse && contentLength == length else {
                throw Fault("it has several Content-Length fields")
            }
            contentLength = length
            rest = rest[comma...].dropFirst()
        } while !rest.isEmpty
    }

    private static func number(_ value: Bytes, of field: StaticString) throws(Fault) -> Int64 {
        let isNumber = value.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        guard !value.isEmpty, value.count <= 18, isNumber else { throw Fault("\(field) is not a number") }
        return value.reduce(0) { $0 * 10 + Int64($1 - UInt8(ascii: "0")) }
    }

    /// Forwards a field, unless Connection lists it.
    private mutating func forward(_ name: Bytes, _ value: Bytes) {
        if !listed.isEmpty, listed.contains(String(decoding: name, as: UTF8.self).lowercased()) { return }
        endToEnd.writeBytes(UnsafeRawBufferPointer(rebasing: name))
        endToEnd.writeStaticString(": ")
        endToEnd.writeBytes(UnsafeRawBufferPointer(rebasing: value))
        endToEnd.writeStaticString("\r\n")
    }
}
