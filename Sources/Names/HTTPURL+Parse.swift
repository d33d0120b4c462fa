// SPDX-License-Identifier: Apache-2.0

extension HTTPURL {
    /// Reads an absolute URL (RFC 3986 §3, with the schemes of ``Scheme``).
    ///
    /// - Throws: ``NameError`` that names the part at fault.
    public init(_ text: some StringProtocol) throws(NameError) {
        guard let colon = text.firstIndex(of: ":"), let scheme = Scheme(text[..<colon]) else {
            throw NameError(.unsupportedScheme, "URL \"\(text)\": write http:// or https:// before the host")
        }
        var rest = text[text.index(after: colon)...]
        guard rest.hasPrefix("//") else {
            throw NameError(.malformedURL, "URL \"\(text)\": // is missing after the scheme")
        }
        rest = rest.dropFirst(2)
        var fragment: String?
        if let hash = rest.firstIndex(of: "#") {
            fragment = String(rest[rest.index(after: hash)...])
            rest = rest[..<hash]
        }
        let authority = rest.prefix { $0 != "/" && $0 != "?" }
        var target = rest[authority.endIndex...]
        var query: String?
        if let mark = target.firstIndex(of: "?") {
            query = String(target[target.index(after: mark)...])
            target = target[..<mark]
        }
        let hostPort = authority.split(separator: "@", omittingEmptySubsequences: false).last ?? ""
        var host = hostPort
        var port: UInt16?
        if let colon = hostPort.lastIndex(of: ":"), !hostPort[colon...].contains("]") {
            let digits = hostPort[hostPort.index(after: colon)...]
            if !digits.isEmpty {
                guard let number = UInt16(digits), number > 0 else {
                    throw NameError(.malformedPort, "URL \"\(text)\": port \"\(digits)\" is not between 1 and 65535")
                }
                port = number
            }
            host = hostPort[..<colon]
        }
        self.init(
            origin: Origin(scheme: scheme, host: try Host(host), port: port),
            path: target.isEmpty ? "/" : String(target),
            query: query,
            fragment: fragment
        )
    }
}
