// SPDX-License-Identifier: Apache-2.0

extension Endpoint: LosslessStringConvertible {
    /// Reads `192.0.2.1:443` or `[2001:db8::1]:443`; nil for any other text. Accepts port 0, which tells the system to choose a
    /// listener's port.
    public init?(_ text: String) {
        guard let endpoint = try? Endpoint(parsing: text, defaultPort: nil) else { return nil }
        self = endpoint
    }

    /// Reads an address with or without a port: `192.0.2.1`, `192.0.2.1:443`, `2001:db8::1`, `[2001:db8::1]`,
    /// `[2001:db8::1]:443`, `[fe80::1%2]:443` with the index of an interface.
    ///
    /// - Parameters:
    ///   - text: The address, with an optional port after a colon.
    ///   - defaultPort: The port if the text has none; nil if the text must have one.
    /// - Throws: ``NameError`` with code `malformedAddress` or `malformedPort`.
    public init(parsing text: String, defaultPort: UInt16?) throws(NameError) {
        let (host, portText) = Self.split(text)
        let (addressText, scope) = Self.splitScope(host)
        guard let address = IPAddress(String(addressText)), let scope, scope == 0 || address.family == .v6 else {
            throw NameError(
                .malformedAddress,
                "endpoint \(NameError.quoted(text.utf8)): write an IP address and a port, 192.0.2.1:443 or "
                    + "[2001:db8::1]:443"
            )
        }
        guard let port = portText.map({ Self.port($0.utf8) }) ?? defaultPort else {
            throw NameError(
                .malformedPort,
                "endpoint \(NameError.quoted(text.utf8)): write a port of 0 to 65535 after a colon"
            )
        }
        self.init(address, port: port, scope: scope)
    }

    /// Splits off the scope after the percent sign (RFC 4007 §11.2). The scope is 0 if there is none, and nil if it is not an
    /// interface index of 1 or more. Interface names are not accepted.
    private static func splitScope(_ host: Substring) -> (address: Substring, scope: UInt32?) {
        guard let percent = host.utf8.firstIndex(of: UInt8(ascii: "%")) else { return (host, 0) }
        let digits = host[host.utf8.index(after: percent)...]
        let isNumber = (1...10).contains(digits.utf8.count) && digits.utf8.allSatisfy { (48...57).contains($0) }
        return (host[..<percent], isNumber ? UInt32(digits).flatMap { $0 > 0 ? $0 : nil } : nil)
    }

    private static func split(_ text: String) -> (host: Substring, port: Substring?) {
        // No valid endpoint is longer; do not parse a longer text.
        guard text.utf8.count <= 64 else { return ("", nil) }
        if text.utf8.first == UInt8(ascii: "["), let end = text.utf8.firstIndex(of: UInt8(ascii: "]")) {
            let host = text[text.utf8.index(after: text.startIndex)..<end]
            let rest = text[text.utf8.index(after: end)...]
            // Only IPv6 addresses have brackets, and only a port may follow them.
            guard host.utf8.contains(UInt8(ascii: ":")), rest.isEmpty || rest.hasPrefix(":") else { return ("", nil) }
            return (host, rest.isEmpty ? nil : rest.dropFirst())
        }
        let colons = text.utf8.lazy.filter { $0 == UInt8(ascii: ":") }.count
        guard colons == 1, let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else { return (text[...], nil) }
        return (text[..<colon], text[text.utf8.index(after: colon)...])
    }

    /// A port in decimal digits; nil if it is over 65535 or not a number.
    static func port(_ digits: some Collection<UInt8>) -> UInt16? {
        guard !digits.isEmpty else { return nil }
        var value = 0
        for digit in digits {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit) else { return nil }
            value = value * 10 + Int(digit - UInt8(ascii: "0"))
            guard value <= UInt16.max else { return nil }
        }
        return UInt16(value)
    }
}
