// SPDX-License-Identifier: Apache-2.0

/// Hexadecimal text, as upstreams use it for signatures and encrypted names.
package enum Hex {
    private static let digits = Array("0123456789abcdef".utf8)

    /// Encodes each octet as two lower-case digits.
    package static func encode(_ octets: some Sequence<UInt8>) -> String {
        var text: [UInt8] = []
        for octet in octets {
            text.append(digits[Int(octet >> 4)])
            text.append(digits[Int(octet & 15)])
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Decodes digits of either case. Returns nil if a character is not a digit or the number of digits is odd.
    package static func decode(_ text: some StringProtocol) -> [UInt8]? {
        var octets: [UInt8] = []
        var high: UInt8?
        for digit in text.utf8 {
            guard let value = PercentEncoding.hexValue(digit) else { return nil }
            if let first = high {
                octets.append(first << 4 | value)
                high = nil
            } else {
                high = value
            }
        }
        return high == nil ? octets : nil
    }
}
