// SPDX-License-Identifier: Apache-2.0

/// Percent-encoding of octets (RFC 3986 §2.1).
///
///     PercentEncoding.encode("a b/ü", keeping: .unreserved)  // "a%20b%2F%C3%BC"
///     PercentEncoding.decode("a%20b")                        // "a b"
public enum PercentEncoding {
    /// The text with every octet of its UTF-8 form that is not in `allowed` as `%XX`, in upper-case digits.
    ///
    /// An octet that is already percent-encoded is encoded again unless `allowed` holds the percent sign, as ``Allowed/path``
    /// and its siblings do and ``Allowed/unreserved`` does not.
    public static func encode(_ text: some StringProtocol, keeping allowed: Allowed) -> String {
        var text = String(text)
        return text.withOctets { encode($0, keeping: allowed) }
    }

    /// The octets as text, each that is not in `allowed` as `%XX`.
    public static func encode(_ octets: some Collection<UInt8>, keeping allowed: Allowed) -> String {
        guard !octets.allSatisfy(allowed.contains) else { return String(decoding: octets, as: UTF8.self) }
        var result: [UInt8] = []
        result.reserveCapacity(octets.count + 16)
        append(octets, keeping: allowed, to: &result)
        return String(decoding: result, as: UTF8.self)
    }

    /// The text that a percent-encoded one stands for; nil where a `%` lacks its two digits or the octets are not UTF-8.
    public static func decode(_ text: some StringProtocol) -> String? {
        octets(of: text).flatMap(validated)
    }

    /// The octets that a percent-encoded text stands for; nil where a `%` lacks its two digits.
    public static func octets(of text: some StringProtocol) -> [UInt8]? {
        var text = String(text)
        return text.withOctets { decode($0) }
    }

    /// - Parameter keepsStray: takes a `%` without its two digits for itself, as browsers and curl do.
    static func decode(_ bytes: some Collection<UInt8>, keepsStray: Bool = false) -> [UInt8]? {
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count)
        var rest = bytes[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                result.append(byte)
                continue
            }
            let digits = rest.prefix(2).compactMap(hexValue)
            if digits.count == 2 {
                result.append(digits[0] << 4 | digits[1])
                rest = rest.dropFirst(2)
            } else if keepsStray {
                result.append(byte)
            } else {
                return nil
            }
        }
        return result
    }

    /// The text of octets; nil where they are not UTF-8.
    static func validated(_ octets: [UInt8]) -> String? {
        // String(validating:) needs macOS 15; decoding repairs, and what it repaired differs.
        let text = String(decoding: octets, as: UTF8.self)
        return text.utf8.elementsEqual(octets) ? text : nil
    }

    static func append(_ octets: some Collection<UInt8>, keeping allowed: Allowed, to result: inout [UInt8]) {
        for octet in octets {
            if allowed.contains(octet) {
                result.append(octet)
            } else {
                result.append(UInt8(ascii: "%"))
                result.append(hexDigit(octet >> 4))
                result.append(hexDigit(octet & 15))
            }
        }
    }

    /// The value of a hexadecimal digit in either case; nil for anything else.
    package static func hexValue(_ digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    static func hexDigit(_ value: UInt8) -> UInt8 {
        value < 10 ? value + UInt8(ascii: "0") : value - 10 + UInt8(ascii: "A")
    }
}
