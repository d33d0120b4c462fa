// SPDX-License-Identifier: Apache-2.0

/// A file of options in curl's format (`-K`). Each line has one option, as `name = value`, `name: value` or `name
/// value`, or as on the command line. Lines that begin with `#` are comments.
struct OptionFile: Hashable, Sendable {
    struct Line: Hashable, Sendable {
        /// The number of the line, from 1.
        let number: Int
        /// The option as written: `name`, `--name` or `-n`.
        let option: String
        /// The value; nil if there is none. An empty text in quotes is a value.
        let value: String?
        /// Whether the value is in double quotes.
        var isQuoted = false
        /// Whether the value ends at a blank, and the rest of the line is not used.
        var isCut = false
    }

    let lines: [Line]

    /// Parses the text of a file.
    init(parsing text: String) {
        let all = text.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false)
        lines = all.enumerated().compactMap { index, content in Self.line(content, number: index + 1) }
    }

    private static func line(_ content: Substring.UnicodeScalarView, number: Int) -> Line? {
        let content = content.drop(while: isBlank)
        guard let first = content.first, first != "#" else { return nil }
        let separators: [Unicode.Scalar] = first == "-" ? [] : ["=", ":"]
        let option = content.prefix { !isBlank($0) && !separators.contains($0) }
        let rest = content[option.endIndex...].drop { isBlank($0) || separators.contains($0) }
        guard rest.first != "\"" else {
            return Line(number: number, option: String(option), value: unquoted(rest.dropFirst()), isQuoted: true)
        }
        let word = rest.prefix { !isBlank($0) }
        // A comment may follow the value.
        let unused = rest[word.endIndex...].first { !isBlank($0) }
        return Line(
            number: number,
            option: String(option),
            value: word.isEmpty ? nil : String(word),
            isCut: unused != nil && unused != "#"
        )
    }

    private static func isBlank(_ scalar: Unicode.Scalar) -> Bool { scalar == " " || scalar == "\t" || scalar == "\r" }

    /// Returns the text up to the closing quote, or to the end of the line, with `\\`, `\"`, `\t`, `\n`, `\r` and `\v` replaced.
    private static func unquoted(_ text: Substring.UnicodeScalarView) -> String {
        var value = String.UnicodeScalarView()
        var rest = text
        while let scalar = rest.popFirst(), scalar != "\"" {
            guard scalar == "\\" else {
                value.append(scalar)
                continue
            }
            switch rest.popFirst() {
            case "t": value.append("\t")
            case "n": value.append("\n")
            case "r": value.append("\r")
            case "v": value.append("\u{0B}")
            case .some(let other): value.append(other)
            case nil: break
            }
        }
        return String(value)
    }
}
