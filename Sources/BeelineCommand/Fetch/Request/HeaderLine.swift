// SPDX-License-Identifier: Apache-2.0

import Beeline

/// One header field of `-H`.
struct HeaderLine: Hashable, Sendable {
    let name: HTTPField.Name
    /// The value; nil if the header is not sent at all.
    let value: String?
    /// Whether this is the first line with its name on the command line.
    let isFirst: Bool

    /// Parses the values of `-H`: `Name: value`, `Name:` (removes the field), `Name;` (sends it empty), `@file`. As in curl, a
    /// line with text after the semicolon is left out.
    ///
    /// - Parameters:
    ///   - option: the option's name for messages.
    ///   - warnings: receives a warning for each line that is left out.
    /// - Throws: ``CommandFailure`` with status `usage`.
    static func all(
        _ arguments: [String],
        _ files: InputFiles,
        option: String = "-H",
        warnings: inout [String]
    ) throws(CommandFailure) -> [HeaderLine] {
        var texts: [String] = []
        for argument in arguments {
            if argument.hasPrefix("@") {
                texts += try files.text(String(argument.dropFirst())).fileLines.map { String($0) }
            } else {
                texts.append(argument)
            }
        }
        var seen: Set<HTTPField.Name> = []
        var lines: [HeaderLine] = []
        // As in curl, an empty text adds nothing: scripts pass `-H "$VARIABLE"`.
        for text in texts where !text.trimmingBlanks.isEmpty {
            guard let line = try HeaderLine(text, option: option, seen: &seen) else {
                let name = quotedName(of: text)
                warnings.append("Warning: \(option)\(name): not sent, because it has text after the semicolon")
                continue
            }
            lines.append(line)
        }
        return lines
    }

    /// Nil if the line has text after the semicolon.
    private init?(
        _ text: String,
        option: String,
        seen: inout Set<HTTPField.Name>
    ) throws(CommandFailure) {
        // Check this first, because a line break may be an injection attempt.
        let text = try Self.checked(text, option)
        let malformed = CommandFailure(.usage, "\(option)\(Self.quotedName(of: text)): write \"Name: value\"")
        guard let (head, separator, tail) = text.cut(atFirst: ":;"), let name = HTTPField.Name(String(head)) else {
            throw malformed
        }
        guard separator == ":" || tail.isEmpty else {
            // curl would send such a line, whose name is no token.
            if tail.contains(":") { throw malformed }
            return nil
        }
        let rest = tail.trimmingBlanks
        self.name = name
        value = separator == ";" ? "" : rest.isEmpty ? nil : String(rest)
        isFirst = seen.insert(name).inserted
    }

    /// The name at the beginning of a malformed line, for messages. Empty if no separator ends the name, because the
    /// whole text may be a secret.
    private static func quotedName(of text: String) -> String {
        guard let end = text.firstIndex(where: { ":; \t".contains($0) }) else { return "" }
        let name = text[..<end]
        return HTTPField.Name(String(name)) == nil ? "" : " \"\(name)…\""
    }

    /// Checks a text for use in a header field.
    ///
    /// - Throws: ``CommandFailure`` if the text has a control character; CR or LF would start another header field (RFC 9110
    ///   §5.5).
    static func checked(_ text: String, _ option: String) throws(CommandFailure) -> String {
        guard text.utf8.allSatisfy({ $0 == 0x09 || ($0 >= 0x20 && $0 != 0x7f) }) else {
            // Do not quote the text; it may be a secret.
            throw CommandFailure(
                .usage,
                "\(option): its value has a line break or control character: remove it"
            )
        }
        return text
    }
}
