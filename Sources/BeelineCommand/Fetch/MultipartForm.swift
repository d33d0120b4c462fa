// SPDX-License-Identifier: Apache-2.0

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

/// A form as `multipart/form-data` (RFC 7578); its files are read while it is sent.
struct MultipartForm: Hashable, Sendable {
    /// What separates the parts.
    let boundary: String
    /// The whole body, in order.
    let segments: [SegmentedBody.Segment]
    /// How many bytes it has; nil where a part's size is not known before it is read.
    let length: Int64?

    /// The request's Content-Type.
    var contentType: String { "multipart/form-data; boundary=\(boundary)" }

    /// A form of parts.
    ///
    /// - Throws: ``CommandFailure`` for a part that is malformed or whose file cannot be read.
    init(
        _ arguments: [FormArgument],
        files: InputFiles,
        boundary: String = Self.randomBoundary()
    ) throws(CommandFailure) {
        var segments: [SegmentedBody.Segment] = []
        var length: Int64? = 0
        func add(_ segment: SegmentedBody.Segment, _ size: Int64?) {
            segments.append(segment)
            if let size, let sum = length { length = sum + size } else { length = nil }
        }
        func add(_ bytes: [UInt8]) { add(.bytes(bytes), Int64(bytes.count)) }
        for argument in arguments {
            let part = try FormPart(argument)
            add(Array("--\(boundary)\r\n\(part.head)\r\n".utf8))
            switch part.content {
            case .text(let text): add(Array(text.utf8))
            case .fileText(let path): add(try files.read(path))
            case .file("-"): add(try files.read("-"))
            case .file(let path):
                // Pipes have no size, and can be read only once: they stand in memory.
                if let size = files.size(path) { add(.file(path), size) } else { add(try files.read(path)) }
            }
            add(Array("\r\n".utf8))
        }
        add(Array("--\(boundary)--\r\n".utf8))
        self.boundary = boundary
        self.segments = segments
        self.length = length
    }

    /// 24 dashes and 16 random hexadecimal digits: no file has them by chance.
    static func randomBoundary() -> String {
        let digits = (0..<16).map { _ in String(Int.random(in: 0..<16), radix: 16) }.joined()
        return String(repeating: "-", count: 24) + digits
    }
}

/// One part of a form: `name=value`, `name=@file`, `name=<file`, with `;type=` and `;filename=`.
private struct FormPart {
    enum Content {
        case text(String)
        /// The file's text is the value of a plain field.
        case fileText(String)
        case file(String)
    }

    let name: String
    let content: Content
    private var type: String?
    private var fileName: String?

    init(_ argument: FormArgument) throws(CommandFailure) {
        let text = argument.text
        guard let equals = text.firstIndex(of: "="), equals > text.startIndex else {
            throw CommandFailure(.usage, "-F \"\(text)\": write name=value or name=@file")
        }
        name = String(text[..<equals])
        let value = text[text.index(after: equals)...]
        guard !argument.isLiteral else {
            content = .text(String(value))
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
            content = .file(main)
            fileName = fileName ?? String(main[(main.lastIndex(of: "/").map(main.index(after:)) ?? main.startIndex)...])
            type = type ?? Self.guessType(of: main)
        case "<": content = .fileText(main)
        default: content = .text(main)
        }
    }

    /// The part's header fields. Characters that would end the quoted name are percent-encoded, as browsers do.
    var head: String {
        var head = "Content-Disposition: form-data; name=\"\(Self.escaped(name))\""
        if let fileName { head += "; filename=\"\(Self.escaped(fileName))\"" }
        head += "\r\n"
        if let type { head += "Content-Type: \(type)\r\n" }
        return head
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

    private static func escaped(_ text: String) -> String {
        text.unicodeScalars.reduce(into: "") { result, scalar in
            switch scalar {
            case "\"": result += "%22"
            case "\r": result += "%0D"
            case "\n": result += "%0A"
            default: result.unicodeScalars.append(scalar)
            }
        }
    }

    /// The types that curl knows by a file's name.
    private static func guessType(of path: String) -> String {
        let types = [
            ".gif": "image/gif", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".png": "image/png",
            ".svg": "image/svg+xml", ".txt": "text/plain", ".htm": "text/html", ".html": "text/html",
            ".pdf": "application/pdf", ".xml": "application/xml",
        ]
        let name = path.lowercased()
        return types.first { name.hasSuffix($0.key) }?.value ?? "application/octet-stream"
    }
}
