// SPDX-License-Identifier: Apache-2.0

import Beeline

/// The format of `-w`: text with curl's variables.
struct WriteOut: Hashable, Sendable {
    /// A parsed part of the format.
    enum Part: Hashable, Sendable {
        case text(String)
        case variable(String)
        /// `%header{name}`: a field of the last response.
        case header(String)
    }

    let parts: [Part]

    /// Parses a format, or the file of `@file`.
    ///
    /// `%{name}` is a variable, `%%` a percent sign, and `\n`, `\r` and `\t` have their meaning in C.
    init(_ text: String, files: InputFiles) throws(CommandFailure) {
        parts = Self.parse(text.hasPrefix("@") ? try files.text(String(text.dropFirst())) : text)
    }

    private static func parse(_ format: String) -> [Part] {
        var parts: [Part] = []
        var text = ""
        func flush() {
            if !text.isEmpty { parts.append(.text(text)) }
            text = ""
        }
        var rest = Substring(format)
        while let character = rest.popFirst() {
            switch character {
            case "%" where rest.first == "%":
                text.append("%")
                rest.removeFirst()
            case "%" where rest.hasPrefix("{"), "%" where rest.hasPrefix("header{"):
                guard let open = rest.firstIndex(of: "{"), let close = rest.firstIndex(of: "}") else {
                    text.append(character)
                    continue
                }
                flush()
                let name = String(rest[rest.index(after: open)..<close])
                parts.append(open == rest.startIndex ? .variable(name) : .header(name))
                rest = rest[rest.index(after: close)...]
            case "\\":
                switch rest.first {
                case "n": text.append("\n")
                case "r": text.append("\r")
                case "t": text.append("\t")
                default:
                    text.append(character)
                    continue
                }
                rest.removeFirst()
            default: text.append(character)
            }
        }
        flush()
        return parts
    }

    /// The formatted text for both streams.
    struct Output: Hashable, Sendable {
        var standardOutput = ""
        var standardError = ""
    }

    /// Formats the text for a transfer. `%{stdout}` and `%{stderr}` select the stream of the text after them. The text after
    /// `%{onerror}` is used only for failed transfers.
    func output(_ record: TransferRecord) -> Output {
        var output = Output()
        var destination = \Output.standardOutput
        for part in parts {
            switch part {
            case .text(let text): output[keyPath: destination] += text
            case .header(let name):
                let field = HTTPField.Name(name).flatMap { record.lastHop?.response.headerFields[values: $0].first }
                output[keyPath: destination] += field ?? ""
            case .variable("stdout"): destination = \.standardOutput
            case .variable("stderr"): destination = \.standardError
            case .variable("onerror"):
                if record.failure == nil { return output }
            case .variable(let name):
                guard let value = WriteOutVariable(name)?.value(record) else {
                    output.standardError += "beeline: unknown --write-out variable: '\(name)'\n"
                    continue
                }
                output[keyPath: destination] += value.text
            }
        }
        return output
    }
}
