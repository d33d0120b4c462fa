// SPDX-License-Identifier: Apache-2.0

import Beeline

/// A value of `-F` or `--form-string`, in the order of the command line.
struct FormArgument: Hashable, Sendable {
    let text: String
    /// `--form-string`: `@`, `<` and `;` are as good as any other character.
    let isLiteral: Bool
    let place: Int

    init(text: String, isLiteral: Bool) {
        self.text = text
        self.isLiteral = isLiteral
        place = DataPiece.nextPlace()
    }
}

/// The parts of a form, before their files are opened.
struct FormPlan: Hashable, Sendable {
    let parts: [FormPart]
    private let boundary: String

    /// A form of arguments.
    ///
    /// - Throws: ``CommandFailure`` for a part that is malformed or whose file cannot be read.
    init(_ arguments: [FormArgument], files: InputFiles) throws(CommandFailure) {
        parts = try arguments.map { argument throws(CommandFailure) in try FormPart(argument, files) }
        boundary = MultipartForm().boundary
    }

    /// The form; its files are read while it is sent.
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

/// One part of a form: `name=value`, `name=@file`, `name=<file`, with `;type=` and `;filename=`.
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
            throw CommandFailure(.usage, "-F \"\(text)\": write name=value or name=@file")
        }
        name = String(text[..<equals])
        let value = text[text.index(after: equals)...]
        guard !argument.isLiteral else {
            content = .bytes(Array(value.utf8))
            return
        }
        var rest = value
        let first = value.first
        var main = Self.takePiece(&rest)
        if first == "@" || first == "<" { main = String(main.dropFirst()) }
        while !rest.isEmpty {
            let attribute = Self.takePiece(&rest).trimmingBlanks
            if attribute.hasPrefix("type=") {
                type = try HeaderLine.checked(String(attribute.dropFirst(5)), "-F")
            } else if attribute.hasPrefix("filename=") {
                fileName = String(attribute.dropFirst(9))
            } else {
                throw CommandFailure(.usage, "-F \"\(text)\": after ; only type= and filename= are known")
            }
        }
        switch first {
        case "@":
            // Pipes have no size, and can be read only once: they stand in memory.
            content = main == "-" || files.size(main) == nil ? .bytes(try files.read(main)) : .file(main)
            fileName = fileName ?? String(main[(main.lastIndex(of: "/").map(main.index(after:)) ?? main.startIndex)...])
            type = type ?? MediaType.guess(fileName: main)
        case "<": content = .bytes(try files.read(main))
        default: content = .bytes(Array(main.utf8))
        }
    }

    /// The text up to the next semicolon, which is dropped; in double quotes it may hold semicolons.
    private static func takePiece(_ rest: inout Substring) -> String {
        var piece = ""
        var isQuoted = false
        while let character = rest.popFirst() {
            switch character {
            case ";" where !isQuoted: return piece
            case "\"" where isQuoted || piece.isEmpty || piece.hasSuffix("=") || piece == "@" || piece == "<":
                isQuoted.toggle()
            case "\\" where isQuoted: piece.append(rest.popFirst() ?? "\\")
            default: piece.append(character)
            }
        }
        return piece
    }
}
