// SPDX-License-Identifier: Apache-2.0

extension Host {
    /// The parsed parts of a host.
    typealias Parts = (text: String, address: IPAddress?, zone: String?)

    /// The host parser of the WHATWG URL standard (§3.5), with five differences. Octets that are not UTF-8 are an error and are
    /// not replaced. A domain of over 1,024 octets and a new A-label of over 63 are errors. An IPv6 address may omit its
    /// brackets. A link-local IPv6 address may have a zone. A domain may end in a number (`printer.room.12`) if another label
    /// is none.
    static func parse(_ bytes: Octets) throws(NameError) -> Parts {
        guard let first = bytes.first else {
            throw NameError(.malformedHost, "the host is empty: write a domain or an IP address")
        }
        guard bytes.count <= maxInputLength else {
            throw malformed(bytes, "it is over \(maxInputLength) octets")
        }
        if first == UInt8(ascii: "[") || bytes.contains(UInt8(ascii: ":")) {
            let (address, zone) = try parseV6(bytes)
            return (address.description, address, zone)
        }
        // The fast path for most hosts: one pass, and no allocation except for the text.
        if let text = plainDomain(bytes) { return (text, nil, nil) }
        if let address = IPAddress(v4: bytes[...]) { return (address.description, address, nil) }
        let domain = try toASCII(bytes)
        try checkOctets(domain, of: bytes)
        if isNumberLast(domain) {
            if let address = IPAddress(urlForm: domain) { return (address.description, address, nil) }
            guard hasName(domain) else {
                throw malformed(bytes, "it ends in a number and is not an IPv4 address")
            }
        }
        try checkLength(domain, of: bytes)
        return (String(decoding: domain, as: UTF8.self), nil, nil)
    }

    private static func parseV6(_ bytes: Octets) throws(NameError) -> (IPAddress, zone: String?) {
        var inner = bytes[...]
        if inner.first == UInt8(ascii: "[") {
            guard inner.last == UInt8(ascii: "]") else { throw malformed(bytes, "the closing ] is missing") }
            inner = inner.dropFirst().dropLast()
        }
        let percent = inner.firstIndex(of: UInt8(ascii: "%")) ?? inner.endIndex
        guard let address = IPAddress(v6: inner[..<percent]) else {
            throw malformed(bytes, "it is not an IPv6 address, and other hosts have no colon")
        }
        guard percent < inner.endIndex else { return (address, nil) }
        var zone = inner[(percent + 1)...]
        // In a URL's brackets, RFC 6874 §2 writes the percent sign as %25, and curl a plain %. Without brackets it is always a
        // plain % (RFC 4007 §11), and 25 is the start of an interface number such as 254.
        let isBracketed = inner.count < bytes.count
        if isBracketed, zone.count > 2, zone.starts(with: "25".utf8) { zone = zone.dropFirst(2) }
        // RFC 4007 §4: ::1 is link-local too, on one interface of each machine, so its zone says nothing.
        let isLoopback = address == IPAddress(v6: 0, 1)
        guard isLoopback || address.isLinkLocal && !address.isV4Mapped, (1...15).contains(zone.count),
            zone.allSatisfy(isZoneOctet)
        else {
            throw malformed(
                bytes,
                "a zone is the name or number of an interface after %25, only for link-local addresses"
            )
        }
        return (address, isLoopback ? nil : String(decoding: zone, as: UTF8.self))
    }

    /// Whether the octet is an unreserved character of RFC 3986 §2.3.
    private static func isZoneOctet(_ byte: UInt8) -> Bool {
        PercentEncoding.Allowed.unreserved.contains(byte)
    }

    /// The lower-case domain if it needs no conversion: letters, digits, hyphens and underscores, within the limits of DNS, and
    /// a last label that does not start with a digit. Nil means that the full parser must read it.
    private static func plainDomain(_ bytes: Octets) -> String? {
        guard bytes.count <= maxDNSLength else { return nil }
        var labelStart = 0
        var hasUpperCase = false
        for (index, byte) in bytes.enumerated() {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
                UInt8(ascii: "-"), UInt8(ascii: "_"):
                break
            case UInt8(ascii: "A")...UInt8(ascii: "Z"):
                hasUpperCase = true
            case UInt8(ascii: "."):
                guard index > labelStart, index - labelStart <= maxLabelLength else { return nil }
                labelStart = index + 1
            default:
                return nil
            }
        }
        guard labelStart < bytes.count, bytes.count - labelStart <= maxLabelLength,
            !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains(bytes[labelStart])
        else { return nil }
        guard hasUpperCase else { return String(decoding: bytes, as: UTF8.self) }
        return String(capacity: bytes.count) { text in
            for byte in bytes { text.append(lowercased(byte)) }
        }
    }

    /// Percent-decodes the host, then applies UTS #46 if it is not ASCII.
    private static func toASCII(_ bytes: Octets) throws(NameError) -> [UInt8] {
        var decoded = Array(bytes)
        if bytes.contains(UInt8(ascii: "%")) {
            guard let octets = PercentEncoding.decode(bytes) else {
                throw malformed(bytes, "its % is not followed by two hexadecimal digits")
            }
            decoded = octets
        }
        // A domain in ASCII is only lower-cased (WHATWG URL §3.3, since June 2026): sites have A-labels that are not valid IDNA.
        if decoded.allSatisfy({ $0 < 0x80 }) { return decoded.map(lowercased) }
        guard let text = String(validUTF8: decoded) else {
            throw malformed(bytes, "it is not UTF-8")
        }
        do throws(IDNA.Failure) {
            return try IDNA.toASCII(text.unicodeScalars)
        } catch {
            throw malformed(bytes, error.reason)
        }
    }

    /// Rejects the forbidden domain code points (WHATWG URL §3.1). A control character or space would allow header injection.
    private static func checkOctets(_ domain: [UInt8], of bytes: Octets) throws(NameError) {
        let wrong = domain.first { $0 <= 0x20 || $0 >= 0x7f || "#/:<>?@[\\]^|%".utf8.contains($0) }
        guard let wrong else { return }
        throw malformed(bytes, "\(NameError.name(of: wrong)) is not allowed in a host")
    }

    private static func checkLength(_ domain: [UInt8], of bytes: Octets) throws(NameError) {
        guard domain.count <= maxLength else { throw malformed(bytes, "a domain has at most \(maxLength) octets") }
        guard domain.contains(where: { $0 != UInt8(ascii: ".") }) else { throw malformed(bytes, "it consists of dots") }
    }

    /// The ends-in-a-number checker (WHATWG URL §3.5).
    private static func isNumberLast(_ domain: [UInt8]) -> Bool {
        var labels = domain.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        if labels.last?.isEmpty == true {
            guard labels.count > 1 else { return false }
            labels.removeLast()
        }
        guard let last = labels.last, !last.isEmpty else { return false }
        return last.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
            || IPAddress.number(last) != nil
    }

    /// Whether a domain ends in decimal digits and another label is not a number, so that no resolver reads it as an address.
    private static func hasName(_ domain: [UInt8]) -> Bool {
        let labels = domain.split(separator: UInt8(ascii: "."))
        let isDecimal = { (label: ArraySlice<UInt8>) in
            label.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        }
        return labels.last.map(isDecimal) == true
            && labels.contains { !isDecimal($0) && IPAddress.number($0) == nil }
    }

    private static func lowercased(_ byte: UInt8) -> UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
    }

    private static func malformed(_ bytes: Octets, _ reason: String) -> NameError {
        NameError(.malformedHost, "host \(NameError.quoted(bytes)): \(reason)")
    }
}
