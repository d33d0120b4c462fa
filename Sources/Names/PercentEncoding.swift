// SPDX-License-Identifier: Apache-2.0

/// Percent-encoding of octets (RFC 3986 §2.1).
///
///     PercentEncoding.encode("a b/ü", keeping: .unreserved)  // "a%20b%2F%C3%BC"
///     PercentEncoding.decode("a%20b")                        // "a b"
package enum PercentEncoding {
    /// Encodes the UTF-8 octets of `text` that are not in `allowed` as `%XX` with upper-case digits.
    ///
    /// An existing `%XX` is encoded again unless `allowed` contains `%`. ``Allowed/path``, ``Allowed/query`` and
    /// ``Allowed/fragment`` contain it; ``Allowed/unreserved`` and ``Allowed/userInfo`` do not.
    package static func encode(_ text: some StringProtocol, keeping allowed: Allowed) -> String {
        var text = String(text)
        return text.withOctets { encode($0, keeping: allowed) }
    }

    /// Encodes the octets that are not in `allowed` as `%XX`.
    package static func encode(_ octets: some Collection<UInt8>, keeping allowed: Allowed) -> String {
        guard !octets.allSatisfy(allowed.contains) else { return String(decoding: octets, as: UTF8.self) }
        var result: [UInt8] = []
        result.reserveCapacity(octets.count + 16)
        append(octets, keeping: allowed, to: &result)
        return String(decoding: result, as: UTF8.self)
    }

    /// Decodes a percent-encoded text. Nil if two hexadecimal digits do not follow a `%` or the octets are not UTF-8.
    package static func decode(_ text: some StringProtocol) -> String? {
        let text = String(text)
        return text.utf8.contains(UInt8(ascii: "%")) ? octets(of: text).flatMap { String(validUTF8: $0) } : text
    }

    /// Decodes a percent-encoded text to octets. Nil if two hexadecimal digits do not follow a `%`.
    package static func octets(of text: some StringProtocol) -> [UInt8]? {
        var text = String(text)
        return text.withOctets { decode($0) }
    }

    /// - Parameter keepsStray: Whether to keep a `%` without two digits, as browsers and curl do, instead of returning nil.
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

    /// Returns the text of octets for a URL. If they are not UTF-8, the octets above 0x7F are percent-encoded.
    package static func urlText(_ octets: [UInt8]) -> String {
        String(validUTF8: octets)
            ?? octets.map { octet in
                octet < 0x80 ? String(Unicode.Scalar(octet)) : encode(CollectionOfOne(octet), keeping: .unreserved)
            }.joined()
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

    /// The value of a hexadecimal digit in either case; nil for any other octet.
    package static func hexValue(_ digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    /// The hexadecimal digit of a value below 16, in upper case.
    package static func hexDigit(_ value: UInt8) -> UInt8 {
        value < 10 ? value + UInt8(ascii: "0") : value - 10 + UInt8(ascii: "A")
    }
}
