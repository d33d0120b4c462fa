// SPDX-License-Identifier: Apache-2.0

/// Converts internationalized domain names to ASCII: UTS #46 ToASCII as the WHATWG URL standard §3.3 uses it (non-transitional,
/// CheckBidi and CheckJoiners on, CheckHyphens and UseSTD3ASCIIRules off).
///
/// ``Host`` checks the length of every domain, and uses this type only for domains that are not ASCII. An A-label that is made
/// here has at most 63 octets.
package enum IDNA {
    /// The Unicode version of the compiled data, which `Scripts/update-idna-data` generates.
    package static var unicodeVersion: String { IDNAData.unicodeVersion.description }

    /// The reason why a domain is invalid, worded to end a sentence.
    struct Failure: Error {
        let reason: String

        init(_ reason: String) {
            self.reason = reason
        }
    }

    static let prefix: [UInt32] = [0x78, 0x6e, 0x2d, 0x2d]

    /// Converts the domain to lower-case A-labels (UTS #46 §4.2).
    static func toASCII(_ domain: some Sequence<Unicode.Scalar>) throws(Failure) -> [UInt8] {
        let mapped = normalized(try map(domain))
        let labels = mapped.split(separator: 0x2e, omittingEmptySubsequences: false)
        var decoded: [[UInt32]] = []
        for label in labels {
            let decodedLabel = try decode(label)
            try checkLabel(decodedLabel)
            decoded.append(decodedLabel)
        }
        // RFC 5893 §1.4: one right-to-left label subjects all labels to the bidi rule.
        if decoded.contains(where: isRightToLeft) {
            for label in decoded { try checkBidi(label) }
        }
        var result: [UInt8] = []
        for (index, label) in decoded.enumerated() {
            if index > 0 { result.append(UInt8(ascii: ".")) }
            if label.allSatisfy({ $0 < 0x80 }) {
                result += label.lazy.map { UInt8(truncatingIfNeeded: $0) }
            } else {
                result += "xn--".utf8
                result += try Punycode.encode(label)
            }
        }
        return result
    }

    /// Maps the scalars (UTS #46 §4 step 1). Throws at the first disallowed scalar.
    private static func map(_ domain: some Sequence<Unicode.Scalar>) throws(Failure) -> [UInt32] {
        var result: [UInt32] = []
        for scalar in domain {
            switch IDNATables.mapping(of: scalar.value) {
            case .valid: result.append(scalar.value)
            case .ignored: break
            case .mapped(let text): result += text
            case .scalar(let one): result.append(one)
            case .disallowed: throw Failure("\(name(scalar.value)) is not allowed in a domain")
            }
        }
        return result
    }

    /// Converts an A-label to its U-label; returns any other label unchanged.
    private static func decode(_ label: some Collection<UInt32>) throws(Failure) -> [UInt32] {
        guard label.starts(with: prefix) else { return Array(label) }
        let decoded = try Punycode.decode(label.dropFirst(prefix.count))
        // A plain ASCII A-label would be a second spelling of a name (UTS #46 §4 step 4.1).
        guard decoded.contains(where: { $0 >= 0x80 }) else {
            throw Failure("its label \(quoted(label)) does not need xn--")
        }
        guard normalized(decoded) == decoded else {
            throw Failure("its label \(quoted(label)) is not in Unicode's form C")
        }
        return decoded
    }

    /// Quotes a label for a message.
    static func quoted(_ label: some Sequence<UInt32>) -> String {
        var text = String.UnicodeScalarView()
        text.append(contentsOf: label.lazy.compactMap(Unicode.Scalar.init))
        return NameError.quoted(String(text).utf8)
    }

    static func name(_ scalar: UInt32) -> String {
        let digits = String(scalar, radix: 16, uppercase: true)
        return "U+" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    }
}
