// SPDX-License-Identifier: Apache-2.0

extension IPAddress {
    /// Reads an IPv4 address in any form that browsers read (WHATWG URL §3.5): one to four parts, each decimal, octal after `0`
    /// or hexadecimal after `0x`. The last part fills the remaining octets. A trailing dot is allowed.
    init?(urlForm host: [UInt8]) {
        var parts = host.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        if parts.count > 1, parts.last?.isEmpty == true { parts.removeLast() }
        guard (1...4).contains(parts.count) else { return nil }
        var bits: UInt64 = 0
        for part in parts.dropLast() {
            guard let number = Self.number(part), number <= 255 else { return nil }
            bits = bits << 8 | number
        }
        let left = UInt64(5 - parts.count) * 8
        guard let last = parts.last.flatMap({ Self.number($0) }), last < 1 << left else { return nil }
        self.init(v4: UInt32(truncatingIfNeeded: bits << left | last))
    }

    /// The value of a part; nil if it is not a number. Values over 32 bits are clamped to 2^32, which no part can hold.
    static func number(_ part: ArraySlice<UInt8>) -> UInt64? {
        guard !part.isEmpty else { return nil }
        var digits = part
        var radix: UInt64 = 10
        if part.first == UInt8(ascii: "0"), part.count > 1 {
            digits = digits.dropFirst()
            radix = 8
            if digits.first == UInt8(ascii: "x") || digits.first == UInt8(ascii: "X") {
                digits = digits.dropFirst()
                radix = 16
            }
        }
        var value: UInt64 = 0
        for byte in digits {
            guard let digit = PercentEncoding.hexValue(byte), digit < radix else { return nil }
            value = min(value * radix + UInt64(digit), 1 << 32)
        }
        return value
    }
}
