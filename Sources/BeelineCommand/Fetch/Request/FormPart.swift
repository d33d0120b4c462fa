// SPDX-License-Identifier: Apache-2.0

import Beeline

/// One part of a form: `name=value`, `name=@file,file` or `name=<file`, with optional `;type=`, `;filename=`, `;headers=` and
/// `;encoder=`.
struct FormPart: Hashable, Sendable {
    indirect enum Content: Hashable, Sendable {
        case bytes([UInt8])
        /// A regular file, read while it is sent.
        case file(String)
        /// A pipe or a device, read while it is sent. It cannot be read again.
        case pipe(String)
        /// A nested multipart.
        case group([FormPart])
    }

    /// Nil for a part without a name.
    let name: String?
    var content: Content
    private(set) var type: String?
    private(set) var fileName: String?
    private(set) var fields: HTTPFields = [:]
    private(set) var encoding: TransferEncoding?
    /// `=(`: the next arguments are the parts of this nested multipart.
    private(set) var opensGroup = false

    private init(name: String?, content: Content = .bytes([])) {
        self.name = name
        self.content = content
    }

    /// Parses an argument. Several files of one argument become a nested multipart.
    ///
    /// - Throws: ``CommandFailure`` for a malformed argument or an unreadable file.
    static func all(_ argument: FormArgument, _ files: InputFiles) throws(CommandFailure) -> [FormPart] {
        let text = argument.text
        guard let (head, _, value) = text.cut(atFirst: "=") else {
            // Do not quote the text; it may be a secret.
            throw CommandFailure(.usage, "-F: a part has no name: write name=value or name=@file")
        }
        let name = head.isEmpty ? nil : String(head)
        guard !argument.isLiteral else { return [FormPart(name: name, content: .bytes(Array(value.utf8)))] }
        switch value.first {
        case "(":
            var reader = FormReader(value.dropFirst(), isList: false)
            var part = FormPart(name: name, content: .group([]))
            part.opensGroup = true
            _ = reader.word()
            try part.read(&reader, files)
            return [part]
        case "@": return [try attachments(value.dropFirst(), name: name, files: files)]
        case "<":
            var reader = FormReader(value.dropFirst(), isList: false)
            let path = reader.word()
            var part = FormPart(name: name)
            try part.read(&reader, files)
            part.content = .bytes(try files.read(path))
            part.guessType(of: path)
            return [part]
        default:
            var reader = FormReader(value, isList: false)
            var part = FormPart(name: name, content: .bytes(Array(reader.word().utf8)))
            try part.read(&reader, files)
            if let fileName = part.fileName, part.type == nil { part.type = MediaType.known(fileName: fileName) }
            return [part]
        }
    }

    /// Parses the files of `@`.
    private static func attachments(
        _ text: Substring,
        name: String?,
        files: InputFiles
    ) throws(CommandFailure) -> FormPart {
        var reader = FormReader(text, isList: true)
        var parts: [FormPart] = []
        repeat {
            let path = reader.word()
            var part = FormPart(name: nil)
            try part.read(&reader, files)
            part.content = try content(of: path, files)
            part.fileName = part.fileName ?? String(path.fileName)
            part.guessType(of: path)
            parts.append(part)
        } while reader.nextFile()
        guard parts.count == 1 else { return FormPart(name: name, content: .group(parts)) }
        var part = FormPart(name: name, content: parts[0].content)
        (part.type, part.fileName) = (parts[0].type, parts[0].fileName)
        (part.fields, part.encoding) = (parts[0].fields, parts[0].encoding)
        return part
    }

    /// Standard input is read at once, as in curl, so that its size is known.
    private static func content(of path: String, _ files: InputFiles) throws(CommandFailure) -> Content {
        if path != "-", files.size(path) != nil { return .file(path) }
        guard path == "-" || !files.isFolder(path) else { throw CommandFailure(.readFailed, "-F: \(path) is a folder") }
        if path != "-", files.isPipe(path) { return .pipe(path) }
        return .bytes(try files.read(path))
    }

    /// Guesses the media type by the name of the attached file, then by its path. Text in a field needs no type.
    private mutating func guessType(of path: String) {
        guard type == nil else { return }
        type = fileName.flatMap { MediaType.known(fileName: $0) } ?? MediaType.known(fileName: path)
        if fileName == nil, type == "text/plain" { type = nil }
        // As in curl, only a file has this type by default, not standard input.
        if fileName != nil, path != "-" { type = type ?? "application/octet-stream" }
    }

    /// Reads the attributes after the content.
    private mutating func read(_ reader: inout FormReader, _ files: InputFiles) throws(CommandFailure) {
        while let attribute = reader.attribute() {
            switch attribute {
            case .fileName: fileName = reader.word()
            case .type: type = try Self.checkedType(reader.type())
            case .encoder:
                let word = reader.word()
                guard let known = TransferEncoding(rawValue: word.lowercased()) else {
                    throw CommandFailure(
                        .usage,
                        "-F: the encoder is not known; write 7bit, 8bit, binary, base64 or quoted-printable"
                    )
                }
                encoding = known
            case .headers:
                let isFile = reader.startsFile()
                let word = reader.word()
                let lines = isFile ? FormHeaders.lines(try files.text(word, hasComments: true)) : [word]
                for line in lines { fields.append(try FormHeaders.field(line)) }
            case .other:
                throw CommandFailure(
                    .usage,
                    "-F \"\(name ?? "")=…\": only type=, filename=, headers= and encoder= may follow a ; "
                        + "(--form-string sends it unchanged)"
                )
            }
        }
    }

    private static func checkedType(_ text: String) throws(CommandFailure) -> String {
        let type = try HeaderLine.checked(text, "-F")
        let parts = type.prefix { $0 != ";" }.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, !parts.contains(where: \.isEmpty) else {
            throw CommandFailure(.usage, "-F: the text behind type= is not a media type such as text/plain")
        }
        return type
    }
}

/// The lines of `;headers=`.
enum FormHeaders {
    /// Splits a file into lines. Empty lines and lines that begin with `#` are left out. A line that begins with a
    /// space continues the previous line.
    static func lines(_ text: String) -> [String] {
        var lines: [String] = []
        for line in text.fileLines where !line.hasPrefix("#") {
            let content = line.trimmingBlanks
            if line.first?.isBlank == true, !lines.isEmpty {
                if !content.isEmpty { lines[lines.count - 1] += " \(content)" }
            } else if !content.isEmpty {
                lines.append(String(content))
            }
        }
        return lines
    }

    /// Parses `Name: value`.
    static func field(_ line: String) throws(CommandFailure) -> HTTPField {
        let line = try HeaderLine.checked(line, "-F headers=")
        guard let (head, _, tail) = line.cut(atFirst: ":"), let name = HTTPField.Name(String(head)) else {
            throw CommandFailure(.usage, "-F headers=: write \"Name: value\"")
        }
        return HTTPField(name: name, value: String(tail.trimmingBlanks))
    }
}
