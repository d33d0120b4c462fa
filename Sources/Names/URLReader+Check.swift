// SPDX-License-Identifier: Apache-2.0

extension URLReader {
    /// Throws for a URL that is too long or has a character that must not reach a request line.
    func checkCharacters() throws(NameError) {
        guard text.count <= HTTPURL.maxLength else {
            throw malformed("a URL has at most \(HTTPURL.maxLength) octets, this one has \(text.count)")
        }
        var isBeforeQuery = true
        for byte in text {
            switch byte {
            case 0x20 where isLenient: break
            case 0x20: throw malformed("a space is not allowed; write %20")
            case 0x00..<0x20, 0x7f: throw malformed("\(NameError.name(of: byte)) is not allowed; remove it")
            case UInt8(ascii: "?"), UInt8(ascii: "#"): isBeforeQuery = false
            // Some parsers read a backslash as a slash, so parsers would disagree about the host.
            case UInt8(ascii: "\\") where isBeforeQuery && !isLenient:
                throw malformed("a backslash is not allowed; write / or %5C")
            default: break
            }
        }
    }

    /// An error that quotes the URL without user and password.
    func malformed(_ reason: String, _ code: NameError.Code = .malformedURL) -> NameError {
        let text = text.prefix(HTTPURL.maxLength)
        let slashes = text.firstIndex(where: isAnySlash) ?? text.startIndex
        let isAfterColon = slashes > text.startIndex && text[slashes - 1] == UInt8(ascii: ":")
        // A text without a scheme may start with a user and password.
        let start = isAfterColon ? text[slashes...].drop(while: isAnySlash).startIndex : text.startIndex
        let authority = text[start...].prefix { !isAnySlash($0) && $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
        var secretEnd = authority.lastIndex(of: UInt8(ascii: "@"))
        if secretEnd == nil, code == .malformedPort {
            // The text read as a port may be part of a password that contains a slash.
            secretEnd = text.lastIndex(of: UInt8(ascii: "@"))
        }
        guard let secretEnd else { return NameError(code, "URL \(NameError.quoted(text)): \(reason)") }
        let shown = Array(text[..<start]) + Array("…".utf8) + Array(text[secretEnd...])
        return NameError(code, "URL \(NameError.quoted(shown)): \(reason)")
    }

    private func isAnySlash(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "/") || byte == UInt8(ascii: "\\") }
}
