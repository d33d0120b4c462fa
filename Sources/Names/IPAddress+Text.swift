// SPDX-License-Identifier: Apache-2.0

extension IPAddress: CustomStringConvertible, LosslessStringConvertible {
    /// Reads the dotted form of IPv4 (four decimal parts, no leading zeros) or any RFC 4291 form of IPv6 without brackets or
    /// zone; nil for any other text.
    public init?(_ text: String) {
        var text = text
        let parsed = text.withOctets { bytes -> IPAddress? in
            guard bytes.count <= Self.longestText else { return nil }
            return bytes.contains(UInt8(ascii: ":")) ? IPAddress.parseV6(bytes[...]) : IPAddress.parseV4(bytes[...])
        }
        guard let parsed else { return nil }
        self = parsed
    }

    /// Reads the same text as ``init(_:)``.
    ///
    /// - Throws: ``NameError`` with code `malformedAddress` for any other text.
    public init(parsing text: String) throws(NameError) {
        guard let address = IPAddress(text) else {
            throw NameError(
                .malformedAddress,
                "address \(NameError.quoted(text.utf8)): write an IP address without a port, 192.0.2.1 or 2001:db8::1"
            )
        }
        self = address
    }

    /// Dotted decimal, or the form of RFC 5952: lower case, with the longest run of zeros as `::`.
    public var description: String {
        switch family {
        case .v4:
            return String(capacity: Self.longestV4, describeV4)
        case .v6:
            return describeV6()
        }
    }

    /// Six times "ffff:" plus the longest dotted decimal.
    private static let longestText = 45

    typealias Bytes = Octets

    /// Reads the dotted form of IPv4.
    init?(v4 bytes: Bytes) {
        guard let address = Self.parseV4(bytes) else { return nil }
        self = address
    }

    /// Reads any RFC 4291 form of IPv6, without brackets or zone.
    init?(v6 bytes: Bytes) {
        guard let address = Self.parseV6(bytes) else { return nil }
        self = address
    }

    private static func parseV4(_ bytes: Bytes) -> IPAddress? {
        var result: UInt32 = 0
        var part: UInt32 = 0
        var digits = 0
        var dots = 0
        for byte in bytes {
            if byte == UInt8(ascii: ".") {
                guard digits > 0, dots < 3 else { return nil }
                result = result << 8 | part
                (part, digits, dots) = (0, 0, dots + 1)
                continue
            }
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
            // Some parsers read 012 as octal and others as decimal, so leading zeros are rejected.
            guard digits == 0 || part > 0 else { return nil }
            part = part * 10 + UInt32(byte - UInt8(ascii: "0"))
            digits += 1
            guard part <= 255 else { return nil }
        }
        return dots == 3 && digits > 0 ? IPAddress(v4: result << 8 | part) : nil
    }

    private static func parseV6(_ bytes: Bytes) -> IPAddress? {
        guard (2...longestText).contains(bytes.count) else { return nil }
        var groups: [UInt16] = []
        var gap: Int?
        var rest = bytes
        if rest.starts(with: "::".utf8) {
            gap = 0
            rest = rest.dropFirst(2)
        }
        while !rest.isEmpty {
            guard groups.count < 8 else { return nil }
            let group = rest.prefix { $0 != UInt8(ascii: ":") }
            if group.contains(UInt8(ascii: ".")) {
                // The last 32 bits may be in dotted form (RFC 4291 §2.2 form 3).
                guard group.endIndex == rest.endIndex, groups.count <= 6, let v4 = parseV4(group) else { return nil }
                groups += [UInt16(truncatingIfNeeded: v4.low >> 16), UInt16(truncatingIfNeeded: v4.low)]
                rest = rest[rest.endIndex...]
                break
            }
            guard (1...4).contains(group.count), let value = hexadecimal(group) else { return nil }
            groups.append(value)
            rest = rest[group.endIndex...]
            guard !rest.isEmpty else { break }
            rest = rest.dropFirst()
            guard !rest.isEmpty else { return nil }
            if rest.first == UInt8(ascii: ":") {
                guard gap == nil else { return nil }
                gap = groups.count
                rest = rest.dropFirst()
            }
        }
        if let gap {
            guard groups.count < 8 else { return nil }
            groups.insert(contentsOf: repeatElement(0, count: 8 - groups.count), at: gap)
        }
        guard groups.count == 8 else { return nil }
        return IPAddress(
            v6: groups[..<4].reduce(0) { $0 << 16 | UInt64($1) },
            groups[4...].reduce(0) { $0 << 16 | UInt64($1) }
        )
    }

    private static func hexadecimal(_ digits: Bytes) -> UInt16? {
        var value: UInt16 = 0
        for digit in digits {
            guard let nibble = Character(Unicode.Scalar(digit)).hexDigitValue else { return nil }
            value = value << 4 | UInt16(nibble)
        }
        return value
    }

    /// Four times "255." without the last dot. A string of this length needs no heap allocation.
    private static let longestV4 = 15

    private func describeV4(to text: inout OctetWriter) {
        for shift in stride(from: 24, through: 0, by: -8) {
            let octet = UInt8(truncatingIfNeeded: low >> UInt64(shift))
            if octet >= 100 { text.append(UInt8(ascii: "0") + octet / 100) }
            if octet >= 10 { text.append(UInt8(ascii: "0") + octet / 10 % 10) }
            text.append(UInt8(ascii: "0") + octet % 10)
            if shift > 0 { text.append(UInt8(ascii: ".")) }
        }
    }

    private func describeV6() -> String {
        let groups = (0..<8).map { index in
            UInt16(truncatingIfNeeded: (index < 4 ? high : low) >> (UInt64(3 - index & 3) * 16))
        }
        // RFC 5952 §4.2: shorten the first longest run of two or more zero groups.
        var best = 0..<0
        var start = 0
        while start < 8 {
            let run = groups[start...].prefix { $0 == 0 }.count
            if run >= 2, run > best.count { best = start..<start + run }
            start += max(run, 1)
        }
        let text = { (part: ArraySlice<UInt16>) in part.map { String($0, radix: 16) }.joined(separator: ":") }
        guard !best.isEmpty else { return text(groups[...]) }
        return text(groups[..<best.lowerBound]) + "::" + text(groups[best.upperBound...])
    }
}
