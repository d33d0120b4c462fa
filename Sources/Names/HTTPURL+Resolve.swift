// SPDX-License-Identifier: Apache-2.0

extension HTTPURL {
    /// Resolves a reference, such as a Location header, against this URL (RFC 3986 §5.2).
    ///
    /// Accepts the malformed references that browsers accept: surrounding white space is dropped, spaces and non-ASCII
    /// characters are encoded, backslashes before the query become slashes, and missing or extra slashes after a scheme are
    /// accepted. A reference without a fragment inherits this URL's fragment (RFC 9110 §10.2.2). A reference without a host
    /// also inherits user and password.
    ///
    /// - Throws: ``NameError``; its code is `unsupportedScheme` if the scheme is not an HTTP or WebSocket scheme (`file:`,
    ///   `javascript:`, `data:`).
    public func resolving(_ reference: String) throws(NameError) -> HTTPURL {
        var reference = reference
        return try reference.withOctets { bytes in
            Result { () throws(NameError) in
                let isWhite = { (byte: UInt8) in byte == 0x20 || (0x09...0x0d).contains(byte) }
                let start = bytes.firstIndex { !isWhite($0) } ?? bytes.endIndex
                let end = bytes.lastIndex { !isWhite($0) }.map { $0 + 1 } ?? start
                return try URLReader(bytes[start..<end], isLenient: true).relative(to: self)
            }
        }.get()
    }
}

extension URLReader {
    /// Resolves the reference (RFC 3986 §5.2.2).
    fileprivate func relative(to base: HTTPURL) throws(NameError) -> HTTPURL {
        try checkCharacters()
        var rest = text
        if let colon = schemeEnd {
            let scheme = try scheme(text[..<colon])
            rest = text[(colon + 1)...]
            let slashes = rest.prefix(while: isSlash)
            // "https:path" at an https URL is relative (WHATWG URL §4.4, "special relative or authority state").
            guard scheme == base.origin.scheme, slashes.count < 2 else {
                return try finish(afterSlashes(scheme, rest[slashes.endIndex...]), at: base)
            }
        }
        let slashes = rest.prefix(while: isSlash)
        if slashes.count >= 2 {
            return try finish(afterSlashes(base.origin.scheme, rest[slashes.endIndex...]), at: base)
        }
        let (path, query, fragment) = parts(rest)
        let (target, pathCount) =
            if path.first.map(isSlash) == true {
                target(path, query)
            } else if path.isEmpty, query == nil {
                (base.target, base.pathCount)
            } else {
                joined(path.isEmpty ? base.path : merged(path, with: base), query)
            }
        try checkLength(of: target)
        return HTTPURL(
            origin: base.origin,
            checkedTarget: target,
            pathCount: pathCount,
            fragment: fragment.map { encoded($0, keeping: .fragmentOfURL) } ?? base.fragment,
            user: base.user,
            password: base.password
        )
    }

    /// A reference within the limit may become longer: percent-encoding triples it, and the base's path stands before it. A chain
    /// of redirects could add up.
    private func checkLength(of target: String) throws(NameError) {
        guard target.utf8.count <= HTTPURL.maxLength else {
            throw malformed(
                "a URL has at most \(HTTPURL.maxLength) octets, this one would have \(target.utf8.count)"
            )
        }
    }

    private func finish(_ url: HTTPURL, at base: HTTPURL) throws(NameError) -> HTTPURL {
        try checkLength(of: url.target)
        return HTTPURL(
            origin: url.origin,
            checkedTarget: url.target,
            pathCount: url.pathCount,
            fragment: url.fragment ?? base.fragment,
            user: url.user,
            password: url.password
        )
    }

    /// Merges the paths (RFC 3986 §5.2.3).
    private func merged(_ path: Bytes, with base: HTTPURL) -> String {
        let directory = base.path.utf8.prefix(
            through: base.path.utf8.lastIndex(of: UInt8(ascii: "/")) ?? base.path.startIndex
        )
        return (Array(directory) + path).withOctets(normalizedPath)
    }

    func isSlash(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "/") || isBackslash(byte) }
}
