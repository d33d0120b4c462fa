// SPDX-License-Identifier: Apache-2.0

import Names

/// One value of `-d` or a related option.
struct DataPiece: Hashable, Sendable {
    enum Kind: Hashable, Sendable {
        /// `-d`: reads `@file` without CR, LF and NUL.
        case form
        /// `--data-binary`: reads `@file` unchanged.
        case binary
        /// `--data-raw`: never reads a file.
        case raw
        /// `--data-urlencode`.
        case urlEncoded
        /// `--json`.
        case json
    }

    let kind: Kind
    let text: String

    init(_ kind: Kind, _ text: String) {
        self.kind = kind
        self.text = text
    }

    /// The path in `@file`; nil for plain text, `--data-raw` and `--data-urlencode`.
    var file: String? {
        switch kind {
        case .form, .binary, .json: text.dropping(prefix: "@").map { String($0) }
        case .raw, .urlEncoded: nil
        }
    }

    /// Returns the bytes of this piece, read from its file if it has one.
    func bytes(_ files: InputFiles) throws(CommandFailure) -> [UInt8] {
        switch kind {
        case .raw: return Array(text.utf8)
        case .urlEncoded: return try percentEncoded(files)
        case .form:
            return try contents(files).filter { file == nil || ![0x0d, 0x0a, 0].contains($0) }
        case .binary, .json:
            return try contents(files)
        }
    }

    private func contents(_ files: InputFiles) throws(CommandFailure) -> [UInt8] {
        guard let file else { return Array(text.utf8) }
        return try files.read(file)
    }

    /// Encodes `content`, `=content`, `name=content`, `@file` or `name@file`.
    private func percentEncoded(_ files: InputFiles) throws(CommandFailure) -> [UInt8] {
        // As in curl, the first `=` decides, even after an `@`.
        guard let (head, separator, tail) = text.cut(atFirst: "=") ?? text.cut(atFirst: "@") else {
            return Self.formEncode(Array(text.utf8))
        }
        let content = separator == "@" ? try files.read(String(tail)) : Array(tail.utf8)
        let name = head.isEmpty ? "" : head + "="
        return Array(name.utf8) + Self.formEncode(content)
    }

    /// Percent-encodes the bytes, with spaces as `+`, the form encoding.
    private static func formEncode(_ bytes: [UInt8]) -> [UInt8] {
        let words = bytes.split(separator: 0x20, omittingEmptySubsequences: false)
        return Array(words.map { PercentEncoding.encode($0, keeping: .unreserved) }.joined(separator: "+").utf8)
    }
}
