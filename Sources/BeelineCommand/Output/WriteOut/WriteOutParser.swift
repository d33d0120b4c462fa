// SPDX-License-Identifier: Apache-2.0

/// Parses the format of `-w`.
enum WriteOutParser {
    /// Returns the parts of a format. Text that is not a variable stays unchanged.
    static func parse(_ format: String) -> [WriteOut.Part] {
        var parts: [WriteOut.Part] = []
        var text = ""
        var rest = format.unicodeScalars[...]
        func flush() {
            if !text.isEmpty { parts.append(.text(text)) }
            text = ""
        }
        while let scalar = rest.popFirst() {
            switch scalar {
            case "%" where rest.first == "%":
                text.append("%")
                rest.removeFirst()
            case "%":
                guard let (part, after) = variable(rest) else {
                    text.append("%")
                    continue
                }
                flush()
                parts.append(part)
                rest = after
            case "\\":
                switch rest.first {
                case "n": text.append("\n")
                case "r": text.append("\r")
                case "t": text.append("\t")
                case let other:
                    text.append("\\")
                    guard let other else { continue }
                    // As in curl, it begins no other escape and no variable.
                    text.unicodeScalars.append(other)
                }
                rest.removeFirst()
            default: text.unicodeScalars.append(scalar)
            }
        }
        flush()
        return parts
    }

    private typealias Scalars = Substring.UnicodeScalarView

    /// Parses `{name}`, `header{…}`, `time{…}` or `output{…}` at the beginning of a text; nil if it is none of them.
    private static func variable(_ text: Scalars) -> (WriteOut.Part, rest: Scalars)? {
        guard let open = text.firstIndex(of: "{") else { return nil }
        let kind = String(text[..<open])
        let content = text[text.index(after: open)...]
        guard ["", "header", "time", "output"].contains(kind),
            let close = end(of: content, isEscapable: kind == "header")
        else { return nil }
        let value = String(content[..<close])
        let rest = content[content.index(after: close)...]
        switch kind {
        case "header": return (header(value), rest)
        case "time": return (.time(value), rest)
        case "output" where value.hasPrefix(">>"): return (.output(String(value.dropFirst(2)), appends: true), rest)
        case "output": return (.output(value, appends: false), rest)
        default: return (.variable(value), rest)
        }
    }

    /// The index of the closing brace; nil if there is none.
    private static func end(of text: Scalars, isEscapable: Bool) -> Scalars.Index? {
        var previous: Unicode.Scalar = "{"
        for index in text.indices {
            if text[index] == "}", !isEscapable || previous != "\\" { return index }
            previous = text[index]
        }
        return nil
    }

    /// Parses `name` or `name:all:separator`.
    private static func header(_ text: String) -> WriteOut.Part {
        guard let mark = text.firstRange(of: ":all:") else { return .header(text, separator: nil) }
        var separator = ""
        var rest = text[mark.upperBound...]
        while let character = rest.popFirst() {
            guard character == "\\", let escaped = rest.popFirst() else {
                separator.append(character)
                continue
            }
            switch escaped {
            case "n": separator.append("\n")
            case "r": separator.append("\r")
            case "t": separator.append("\t")
            case "}": separator.append("}")
            default:
                separator.append("\\")
                separator.append(escaped)
            }
        }
        return .header(String(text[..<mark.lowerBound]), separator: separator)
    }
}
