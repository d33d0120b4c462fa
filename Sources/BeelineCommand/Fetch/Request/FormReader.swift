// SPDX-License-Identifier: Apache-2.0

/// Splits the text after `name=` of `-F` into words and attributes.
///
/// A word ends at a semicolon, and in a list of files also at a comma. A word in double quotes may contain both, and
/// `\` there escapes a quote or another `\`. As in curl, blanks around a word are dropped, and quotes in other places
/// are ordinary characters.
struct FormReader {
    enum Attribute {
        case type
        case fileName
        case headers
        case encoder
        case other
    }

    private static let attributes: [(text: String, attribute: Attribute)] = [
        ("type=", .type), ("filename=", .fileName), ("headers=", .headers), ("encoder=", .encoder),
    ]

    private var rest: Substring
    private let isList: Bool

    init(_ text: Substring, isList: Bool) {
        rest = text
        self.isList = isList
    }

    /// Takes the next word.
    mutating func word() -> String {
        rest = rest.drop(while: \.isBlank)
        if rest.first == "\"" {
            var word = ""
            var quoted = rest.dropFirst()
            while let character = quoted.popFirst() {
                switch character {
                case "\"":
                    rest = quoted.drop { !isEnd($0) }
                    return word
                case "\\" where quoted.first == "\\" || quoted.first == "\"": word.append(quoted.removeFirst())
                default: word.append(character)
                }
            }
            // An unclosed quote is an ordinary character.
        }
        let word = rest.prefix { !isEnd($0) }
        rest = rest[word.endIndex...]
        return String(word.trimmingBlanks)
    }

    /// Takes a media type with its parameters, which end before the next attribute.
    mutating func type() -> String {
        rest = rest.drop(while: \.isBlank)
        let start = rest.startIndex
        while true {
            rest = rest.drop { !isEnd($0) }
            guard rest.first == ";" else { break }
            let next = rest.dropFirst().drop(while: \.isBlank)
            if Self.attributes.contains(where: { next.hasPrefix($0.text) }) { break }
            rest = next
        }
        return String(rest.base[start..<rest.startIndex].trimmingBlanks)
    }

    /// Takes the name of the next attribute; nil at the end of the part.
    mutating func attribute() -> Attribute? {
        guard rest.first == ";" else { return nil }
        rest = rest.dropFirst().drop(while: \.isBlank)
        // There may be nothing after a final semicolon.
        if rest.isEmpty { return nil }
        for (text, attribute) in Self.attributes where rest.hasPrefix(text) {
            rest = rest.dropFirst(text.count)
            return attribute
        }
        return .other
    }

    /// Takes the `@` or `<` before a file with headers.
    mutating func startsFile() -> Bool {
        guard rest.first == "@" || rest.first == "<" else { return false }
        rest = rest.dropFirst()
        return true
    }

    /// Takes the comma before another file.
    mutating func nextFile() -> Bool { rest.popFirst() == "," }

    private func isEnd(_ character: Character) -> Bool { character == ";" || isList && character == "," }
}
