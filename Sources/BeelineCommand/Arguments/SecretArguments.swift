// SPDX-License-Identifier: Apache-2.0

import LibC

/// Hides secrets of the command line from other users, who see the arguments of every process (`ps`, `/proc/PID/cmdline`).
enum SecretArguments {
    /// Overwrites the secrets in the process's arguments with spaces, as curl does. The lengths do not change. Copy the
    /// arguments before: `CommandLine.arguments` copies them on its first use.
    ///
    /// - Parameter arguments: the octets of the arguments. A String would have longer ones in place of invalid UTF-8.
    static func wipe(_ arguments: [[UInt8]]) {
        let vector = CommandLine.unsafeArgv
        var expected: Kind?
        for (index, octets) in arguments.enumerated() {
            guard let secret = secret(in: octets, after: &expected), let argument = vector[index + 1],
                secret.upperBound <= strlen(argument)
            else { continue }
            memset(argument + secret.lowerBound, Int32(UInt8(ascii: " ")), secret.count)
        }
    }

    /// Returns for each argument the octets to overwrite; nil if it has no secret. The program's name is not an argument.
    static func secrets(in arguments: [[UInt8]]) -> [Range<Int>?] {
        var expected: Kind?
        return arguments.map { secret(in: $0, after: &expected) }
    }

    /// Returns the octets of the next argument to overwrite; nil if it has no secret. `expected` is the kind of this argument if it
    /// is the value of an option, and is set to that of the next one.
    ///
    /// The options of subcommands, and those of a program after `run --`, are treated alike. An argument that only
    /// looks like a secret is overwritten too. This affects only the view of other users.
    ///
    /// This runs at every start. It uses no array of ranges and, without long options, no set or dictionary: the first use of such
    /// a type searches all conformances of the program.
    private static func secret(in argument: [UInt8], after expected: inout Kind?) -> Range<Int>? {
        if let kind = expected {
            expected = nil
            return kind.secret(in: argument[...]) ?? Kind.url.secret(in: argument[...])
        }
        guard argument.first == UInt8(ascii: "-"), argument.count > 1 else {
            return Kind.url.secret(in: argument[...])
        }
        let (kind, value) = argument[1] == UInt8(ascii: "-") ? long(argument) : cluster(argument)
        guard let kind, value.isEmpty else {
            return kind.flatMap { $0.secret(in: value) } ?? Kind.url.secret(in: argument[...])
        }
        expected = kind
        return nil
    }

    /// The kind of a long option's value, and the value if it is in the same argument.
    private static func long(_ argument: [UInt8]) -> (Kind?, ArraySlice<UInt8>) {
        let name = argument.dropFirst(2).prefix { $0 != UInt8(ascii: "=") }
        return (kind(ofOption: String(decoding: name, as: UTF8.self)), argument[name.endIndex...].dropFirst())
    }

    /// The kind of a long option's value. Accepts the beginning of a name, as ``FetchParser`` does.
    private static func kind(ofOption name: String) -> Kind? {
        if let kind = longOptions[name] { return kind }
        guard !name.isEmpty, !FetchArguments.options.contains(where: { $0.name == name }) else { return nil }
        let matches = FetchArguments.options.filter { $0.help != nil && $0.name.hasPrefix(name) }
        // `fetch` refuses an ambiguous name, but its value is hidden if any of the options has a secret.
        return matches.lazy.compactMap { longOptions[$0.name] }.first
    }

    /// The kind of the value in a cluster of short options such as `-sSume:secret`.
    private static func cluster(_ argument: [UInt8]) -> (Kind?, ArraySlice<UInt8>) {
        for index in argument.indices.dropFirst() {
            if let kind = kind(ofLetter: argument[index]) { return (kind, argument[(index + 1)...]) }
            if lettersWithValue.contains(argument[index]) { break }
        }
        return (nil, [])
    }

    private static let longOptions: [String: Kind] = [
        "user": .whole, "proxy-user": .whole, "oauth2-bearer": .whole, "pass": .whole, "proxy-pass": .whole,
        "tlsuser": .whole, "tlspassword": .whole, "proxy-tlsuser": .whole, "proxy-tlspassword": .whole,
        "header": .header, "proxy-header": .header, "cookie": .cookie, "cert": .passphrase, "proxy-cert": .passphrase,
        "proxy": .url, "preproxy": .url, "socks4": .url, "socks4a": .url, "socks5": .url, "socks5-hostname": .url,
        "url": .url,
    ]
    /// The other letters with a value. The value ends a cluster, as in curl.
    private static let lettersWithValue = "AcCdDeFhKmoPQrtTwXyYz".utf8

    /// The kind of a short option's value; nil if it is no secret.
    private static func kind(ofLetter letter: UInt8) -> Kind? {
        switch letter {
        case UInt8(ascii: "u"), UInt8(ascii: "U"): .whole
        case UInt8(ascii: "H"): .header
        case UInt8(ascii: "b"): .cookie
        case UInt8(ascii: "E"): .passphrase
        case UInt8(ascii: "x"): .url
        default: nil
        }
    }
}

extension SecretArguments {
    /// The place of the secret in a value.
    fileprivate enum Kind {
        /// The whole value.
        case whole
        /// The value of a header that carries credentials.
        case header
        /// Cookies; without `=` it is the name of a file.
        case cookie
        /// The text after the colon of `certificate:passphrase`.
        case passphrase
        /// User and password before the host, also without a scheme.
        case url

        /// Returns the place of the secret; nil if there is none.
        func secret(in value: ArraySlice<UInt8>) -> Range<Int>? {
            let range: Range<Int>?
            switch self {
            case .whole: range = value.indices
            case .header: range = Self.isSecretHeader(value) ? Self.afterColon(value) : nil
            case .cookie: range = value.contains(UInt8(ascii: "=")) ? value.indices : nil
            case .passphrase: range = Self.afterColon(value)
            case .url: range = Self.userInformation(value)
            }
            return range.flatMap { $0.isEmpty ? nil : $0 }
        }

        private static func isSecretHeader(_ value: ArraySlice<UInt8>) -> Bool {
            let name = String(decoding: value.prefix { $0 != UInt8(ascii: ":") }, as: UTF8.self).lowercased()
            return ["auth", "cookie", "token", "key", "secret", "password"].contains { name.contains($0) }
        }

        private static func afterColon(_ value: ArraySlice<UInt8>) -> Range<Int>? {
            value.firstIndex(of: UInt8(ascii: ":")).map { $0 + 1..<value.endIndex }
        }

        /// The octets before the last `@` of the authority.
        private static func userInformation(_ value: ArraySlice<UInt8>) -> Range<Int>? {
            let scheme = Array("://".utf8)
            let start = value.indices.first { value[$0...].starts(with: scheme) }.map { $0 + scheme.count }
            let authority = value[(start ?? value.startIndex)...].prefix { !"/?#".utf8.contains($0) }
            guard let end = authority.lastIndex(of: UInt8(ascii: "@")) else { return nil }
            // Without a scheme, only a text with a password counts: `name@host` occurs in ordinary values.
            guard start != nil || authority[..<end].contains(UInt8(ascii: ":")) else { return nil }
            return authority.startIndex..<end
        }
    }
}
