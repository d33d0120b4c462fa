// SPDX-License-Identifier: Apache-2.0

public import DirectHTTP
public import Names

/// The logins of a `.netrc` file, by host.
///
/// ```swift
/// let netrc = try Netrc(parsing: text)
/// configuration.credentialSource = { url in netrc.credentials(for: url) }
/// ```
///
/// The file has the tokens `machine`, `default`, `login`, `password`, `account` and `macdef`, as ftp(1) describes them. A token
/// may be in double quotes, with `\n`, `\r`, `\t` and `\"` as in curl. A token that starts with `#` begins a comment.
public struct Netrc: Hashable, Sendable, CustomStringConvertible {
    /// The longest text that is read, in bytes.
    package static let maxBytes = 1 << 20
    package static let maxEntries = 10_000

    package struct Login: Hashable, Sendable, CustomStringConvertible {
        /// The user; empty if the file has a password only.
        package var user: String
        /// The password; empty if the file has none.
        package var password: String

        /// A fixed text, because the parts are secret.
        package var description: String { "a login" }
    }

    private struct Entry: Hashable, Sendable {
        /// The name in lower case; nil for `default`.
        var machine: String?
        var user: String?
        var password: String?

        var isEmpty: Bool { user == nil && password == nil }
    }

    private var entries: [Entry] = []

    /// Parses a file.
    ///
    /// - Throws: ``BeelineError`` with code `malformedNetrc` if a token has no value, a quote is not closed, or the file has
    ///   more than 1 MiB or 10,000 entries. The message has a line number and no secret.
    public init(parsing text: String) throws(BeelineError) {
        guard text.utf8.count <= Self.maxBytes else {
            throw BeelineError(.malformedNetrc, "the netrc file has more than \(Self.maxBytes) bytes")
        }
        var lexer = NetrcLexer(text)
        while let word = try lexer.next() {
            switch word.lowercased() {
            case "machine":
                let name = try lexer.value(of: "machine")
                try add(Entry(machine: name.lowercased()))
            case "default":
                try add(Entry(machine: nil))
            case "login":
                let user = try lexer.value(of: "login")
                if !entries.isEmpty { entries[entries.count - 1].user = user }
            case "password":
                let password = try lexer.value(of: "password")
                if !entries.isEmpty { entries[entries.count - 1].password = password }
            case "account":
                _ = try lexer.value(of: "account")
            case "macdef":
                lexer.skipMacro()
            default:
                // As in curl, unknown words are ignored.
                break
            }
        }
    }

    private mutating func add(_ entry: Entry) throws(BeelineError) {
        guard entries.count < Self.maxEntries else {
            throw BeelineError(.malformedNetrc, "the netrc file has more than \(Self.maxEntries) entries")
        }
        entries.append(entry)
    }

    /// The login for a host; nil if the file has none.
    ///
    /// - Parameters:
    ///   - host: the host. Its port and protocol do not matter.
    ///   - user: the user of the login. Entries of that user come first, and of these one with a password; then an entry without a
    ///     user. Nil: the first entry of the host.
    package func login(for host: Host, user: String? = nil) -> Login? {
        let name = host.dnsName ?? host.text
        let found = entries.filter { $0.machine.map { $0 == name || $0 == host.text } ?? true && !$0.isEmpty }
        guard let user else {
            return found.first.map { Login(user: $0.user ?? "", password: $0.password ?? "") }
        }
        let own = found.filter { $0.user == user }
        // As in curl, an entry without a password does not hide a later one with it.
        let entry = own.first { $0.password != nil } ?? own.first ?? found.first { $0.user == nil }
        return entry.map { Login(user: user, password: $0.password ?? "") }
    }

    /// Basic credentials for the host and user of a URL; nil if the file has none.
    public func credentials(for url: HTTPURL) -> Credentials? {
        login(for: url.host, user: url.user).map { .basic(user: $0.user, password: $0.password) }
    }

    /// The number of entries. The entries are secret.
    public var description: String { "\(entries.count) entries of a netrc file" }
}

/// Splits a netrc file into words.
private struct NetrcLexer {
    private var rest: Substring
    private var line = 1

    init(_ text: String) { rest = text[...] }

    /// The next word; nil at the end.
    ///
    /// - Parameter isValue: whether a `#` begins a word, such as a password, and not a comment.
    mutating func next(isValue: Bool = false) throws(BeelineError) -> String? {
        while let first = rest.first {
            if first == "#", !isValue {
                rest = rest.drop { !$0.isNewline }
            } else if first.isWhitespace {
                if first.isNewline { line += 1 }
                rest = rest.dropFirst()
            } else {
                return first == "\"" ? try quoted() : plain()
            }
        }
        return nil
    }

    /// The word after a keyword.
    mutating func value(of keyword: String) throws(BeelineError) -> String {
        guard let word = try next(isValue: true) else {
            throw BeelineError(.malformedNetrc, "line \(line) of the netrc file: \(keyword) has no value")
        }
        return word
    }

    /// Skips a macro, which ends at an empty line.
    mutating func skipMacro() {
        var isLineEmpty = false
        while let character = rest.popFirst() {
            guard character.isNewline else {
                isLineEmpty = false
                continue
            }
            line += 1
            if isLineEmpty { return }
            isLineEmpty = true
        }
    }

    private mutating func plain() -> String {
        let word = rest.prefix { !$0.isWhitespace }
        rest = rest[word.endIndex...]
        return String(word)
    }

    private mutating func quoted() throws(BeelineError) -> String {
        var word = ""
        rest = rest.dropFirst()
        while let character = rest.popFirst(), !character.isNewline {
            switch character {
            case "\"": return word
            case "\\":
                switch rest.popFirst() {
                case "n": word.append("\n")
                case "r": word.append("\r")
                case "t": word.append("\t")
                case let other?: word.append(other)
                case nil: break
                }
            default: word.append(character)
            }
        }
        throw BeelineError(.malformedNetrc, "line \(line) of the netrc file has a quote that is not closed")
    }
}
