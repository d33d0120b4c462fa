// SPDX-License-Identifier: Apache-2.0

import Beeline

/// A value of `-F` or `--form-string`.
struct FormArgument: Hashable, Sendable {
    let text: String
    /// `--form-string`: `@`, `<` and `;` have no special meaning.
    let isLiteral: Bool
}

/// The parts of a multipart form, before their files are opened.
struct FormPlan: Hashable, Sendable {
    let parts: [FormPart]
    private let boundary: String

    /// Parses the form arguments.
    ///
    /// - Throws: ``CommandFailure`` for a malformed part or an unreadable file.
    init(_ arguments: [FormArgument], files: InputFiles) throws(CommandFailure) {
        parts = try arguments.map { argument throws(CommandFailure) in try FormPart(argument, files) }
        boundary = MultipartForm().boundary
    }

    /// The multipart form. Its files are read while it is sent.
    var form: MultipartForm {
        let parts = parts.map { part in
            var body: RequestBody =
                switch part.content {
                case .bytes(let bytes): .bytes(bytes)
                case .file(let path): .file(path)
                }
            body.contentType = part.type
            return MultipartForm.Part(part.name, body, fileName: part.fileName)
        }
        return MultipartForm(parts, boundary: boundary)
    }
}

/// One part of a form: `name=value`, `name=@file` or `name=<file`, with optional `;type=` and `;filename=`.
struct FormPart: Hashable, Sendable {
    enum Content: Hashable, Sendable {
        case bytes([UInt8])
        /// A regular file, read while it is sent.
        case file(String)
    }

    let name: String
    let content: Content
    private(set) var type: String?
    private(set) var fileName: String?

    init(_ argument: FormArgument, _ files: InputFiles) throws(CommandFailure) {
        let text = argument.text
        guard let equals = text.firstIndex(of: "="), equals > text.startIndex else {
            // Do not quote the text; it may be a secret.
            throw CommandFailure(.usage, "-F: a part has no name: write name=value or name=@file")
        }
        name = String(text[..<equals])
        let value = text[text.index(after: equals)...]
        guard !argument.isLiteral else {
            content = .bytes(Array(value.utf8))
            return
        }
        let first = value.first
        var rest = first == "@" || first == "<" ? value.dropFirst() : value
        let main = Self.takeWord(&rest)
        while rest.popFirst() == ";" {
            rest = rest.drop { $0 == " " || $0 == "\t" }
            if rest.hasPrefix("filename=") {
                rest = rest.dropFirst(9)
                fileName = Self.takeWord(&rest)
            } else if rest.hasPrefix("type=") {
                rest = rest.dropFirst(5)
                type = try HeaderLine.checked(Self.takeWord(&rest), "-F")
            } else if let known = type {
                // A parameter of the media type, such as charset=utf-8.
                type = try HeaderLine.checked("\(known);\(Self.takeWord(&rest))", "-F")
            } else {
                throw CommandFailure(
                    .usage,
                    "-F \"\(name)=…\": only type= and filename= may follow a ; (--form-string sends it unchanged)"
                )
            }
        }
        switch first {
        case "@":
            // A pipe has no size and can be read only once, so it is read into memory.
            content = main == "-" || files.size(main) == nil ? .bytes(try files.read(main)) : .file(main)
            fileName = fileName ?? String(main[(main.lastIndex(of: "/").map(main.index(after:)) ?? main.startIndex)...])
            type = type ?? MediaType.guess(fileName: main)
        case "<": content = .bytes(try files.read(main))
        default: content = .bytes(Array(main.utf8))
        }
    }

    /// Takes the text up to the next semicolon. A word in double quotes may contain semicolons, and `\` escapes a quote or
    /// another `\`. As in curl, quotes in other places are ordinary characters.
    private static func takeWord(_ rest: inout Substring) -> String {
        if rest.first == "\"" {
            var word = ""
            var quoted = rest.dropFirst()
            while let character = quoted.popFirst() {
                switch character {
                case "\"":
                    rest = quoted.drop { $0 != ";" }
                    return word
                case "\\" where quoted.first == "\\" || quoted.first == "\"": word.append(quoted.removeFirst())
                default: word.append(character)
                }
            }
            // An unclosed quote is an ordinary character.
        }
        let word = rest.prefix { $0 != ";" }
        rest = rest[word.endIndex...]
        return String(word)
    }
}
