// SPDX-License-Identifier: Apache-2.0

import Names

/// The header that a proxy writes before the octets of its client (the PROXY protocol of HAProxy, versions 1 and 2).
struct ProxyHeader: Hashable, Sendable {
    /// The two ends of the connection between the client and the proxy.
    struct Ends: Hashable, Sendable {
        var source: Endpoint
        var destination: Endpoint
    }

    /// Why octets are not a header.
    enum Fault: Error, Hashable {
        /// The octets do not start as a header does.
        case missing
        /// The header is longer than ``maxLine`` or ``maxPayload``.
        case tooLong
        case malformed
    }

    /// A header and the number of its octets.
    typealias Reading = (header: ProxyHeader, length: Int)

    /// Nil for LOCAL (the proxy itself), UNKNOWN and Unix domain sockets: the ends are then those of the connection.
    var ends: Ends?

    /// The longest header of version 1, with its line end, in octets (§2.1).
    static let maxLine = 107
    /// The longest header of version 2 after its first 16 octets. Addresses take up to 216; the rest is for TLVs, which are
    /// skipped. The protocol allows 65,535.
    static let maxPayload = 4_096

    private static let signature: [UInt8] = [13, 10, 13, 10, 0, 13, 10, 0x51, 0x55, 0x49, 0x54, 10]
    private static let word = Array("PROXY ".utf8)

    /// Reads the header at the start of a connection.
    ///
    /// - Parameter octets: The octets received so far. The header needs at most 16 + ``maxPayload``.
    /// - Returns: Nil if more octets must arrive.
    static func read(_ octets: some RandomAccessCollection<UInt8>) throws(Fault) -> Reading? {
        if matches(octets, signature) { return try readVersion2(octets) }
        if matches(octets, word) { return try readVersion1(octets) }
        throw .missing
    }

    /// Whether octets start with a prefix, as far as they go.
    private static func matches(_ octets: some RandomAccessCollection<UInt8>, _ prefix: [UInt8]) -> Bool {
        octets.prefix(prefix.count).elementsEqual(prefix.prefix(octets.count))
    }

    // MARK: Version 1

    /// Reads `PROXY TCP4 192.0.2.1 192.0.2.2 56324 443` and its CR LF.
    private static func readVersion1(_ octets: some RandomAccessCollection<UInt8>) throws(Fault) -> Reading? {
        let line = octets.prefix(maxLine)
        guard let end = line.firstIndex(of: 10) else {
            if octets.count >= maxLine { throw .tooLong }
            return nil
        }
        let text = String(decoding: line[..<end], as: UTF8.self)
        let length = line.distance(from: line.startIndex, to: end) + 1
        guard text.utf8.last == 13 else { throw .malformed }
        let words = text.dropLast().split(separator: " ", omittingEmptySubsequences: false)
        guard words.count >= 2 else { throw .malformed }
        // The rest of the line has no meaning then.
        if words[1] == "UNKNOWN" { return (header: ProxyHeader(), length: length) }
        guard words.count == 6, words[1] == "TCP4" || words[1] == "TCP6" else { throw .malformed }
        let family = words[1] == "TCP4" ? IPAddress.Family.v4 : .v6
        let source = try endpoint(words[2], port: words[4], family)
        let destination = try endpoint(words[3], port: words[5], family)
        return (header: ProxyHeader(ends: Ends(source: source, destination: destination)), length: length)
    }

    private static func endpoint(
        _ address: Substring,
        port: Substring,
        _ family: IPAddress.Family
    ) throws(Fault) -> Endpoint {
        guard let address = IPAddress(String(address)), address.family == family, let number = UInt16(port),
            // No sign and no leading zero.
            port == "\(number)"
        else { throw .malformed }
        return Endpoint(address.unmapped, port: number)
    }

    // MARK: Version 2

    private static func readVersion2(_ octets: some RandomAccessCollection<UInt8>) throws(Fault) -> Reading? {
        guard octets.count >= 16 else { return nil }
        let head = Array(octets.prefix(16))
        // The high bits are the version, the low ones the command: 0 is LOCAL, 1 is PROXY.
        guard head[12] == 0x20 || head[12] == 0x21 else { throw .malformed }
        let length = Int(head[14]) << 8 | Int(head[15])
        guard length <= maxPayload else { throw .tooLong }
        guard octets.count >= 16 + length else { return nil }
        guard head[12] == 0x21 else { return (header: ProxyHeader(), length: 16 + length) }
        let payload = Array(octets.dropFirst(16).prefix(length))
        // The high bits are the family, the low ones the transport: 1 is a stream.
        let size: Int
        switch head[13] {
        case 0x11: size = 4
        case 0x21: size = 16
        // Unspecified, datagrams, and Unix domain sockets: the receiver uses the ends of the connection (§2.2).
        case 0x00, 0x12, 0x22, 0x31, 0x32: return (header: ProxyHeader(), length: 16 + length)
        default: throw .malformed
        }
        guard payload.count >= 2 * size + 4, let source = IPAddress(octets: payload[..<size]),
            let destination = IPAddress(octets: payload[size..<2 * size])
        else { throw .malformed }
        func port(at index: Int) -> UInt16 { UInt16(payload[index]) << 8 | UInt16(payload[index + 1]) }
        let ends = Ends(
            source: Endpoint(source.unmapped, port: port(at: 2 * size)),
            destination: Endpoint(destination.unmapped, port: port(at: 2 * size + 2))
        )
        return (header: ProxyHeader(ends: ends), length: 16 + length)
    }
}
