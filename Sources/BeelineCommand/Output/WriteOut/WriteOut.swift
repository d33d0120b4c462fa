// SPDX-License-Identifier: Apache-2.0

import Beeline

/// The format of `-w`: text with curl's variables.
struct WriteOut: Hashable, Sendable {
    /// A parsed part of the format.
    enum Part: Hashable, Sendable {
        case text(String)
        case variable(String)
        /// `%header{name}`: a field of the last response. `%header{name:all:separator}`: the fields of all responses.
        case header(String, separator: String?)
        /// `%time{format}`: the current time.
        case time(String)
        /// `%output{file}`: the following text goes to this file.
        case output(String, appends: Bool)
    }

    /// The destination of a piece of the text.
    enum Destination: Hashable, Sendable {
        case standardOutput
        case standardError
        case file(String, appends: Bool)
    }

    /// A piece of the text.
    struct Piece: Hashable, Sendable {
        var destination: Destination
        var text: String
    }

    let parts: [Part]

    /// Parses a format, or the file of `@file`.
    ///
    /// `%{name}` is a variable, `%%` a percent sign, and `\n`, `\r` and `\t` have their meaning in C.
    init(_ text: String, files: InputFiles) throws(CommandFailure) {
        guard text.hasPrefix("@") else {
            parts = WriteOutParser.parse(text)
            return
        }
        // As in curl, the file's own line breaks are not printed.
        let content = try files.text(String(text.dropFirst()))
        parts = WriteOutParser.parse(String(content.unicodeScalars.filter { !"\r\n\0".unicodeScalars.contains($0) }))
    }

    /// Formats the text for a transfer. `%{stdout}`, `%{stderr}` and `%output{file}` select the destination of the text after
    /// them. The text after `%{onerror}` is used only for failed transfers.
    func pieces(_ record: TransferRecord) -> [Piece] {
        var pieces = [Piece(destination: .standardOutput, text: "")]
        func select(_ destination: Destination) { pieces.append(Piece(destination: destination, text: "")) }
        func write(_ text: String) { pieces[pieces.count - 1].text += text }
        parts: for part in parts {
            switch part {
            case .text(let text): write(text)
            case .header(let name, let separator): write(Self.header(name, separator: separator, record))
            case .time(let format): write(WriteOutTime.now(format))
            case .output(let path, let appends): select(.file(path, appends: appends))
            case .variable("stdout"): select(.standardOutput)
            case .variable("stderr"): select(.standardError)
            case .variable("onerror"):
                if record.failure == nil { break parts }
            case .variable("json"): write(WriteOutVariable.json(record))
            case .variable("header_json"): write(CurlJSON.fields(Self.fields(record.lastHop)))
            case .variable(let name):
                if let variable = WriteOutVariable(rawValue: name) {
                    write(variable.value(record).text)
                } else {
                    let current = pieces[pieces.count - 1].destination
                    select(.standardError)
                    write("beeline: unknown --write-out variable: '\(name)'\n")
                    if case .file(let path, _) = current { select(.file(path, appends: true)) } else { select(current) }
                }
            }
        }
        return pieces
    }

    private static func fields(_ hop: Hop?) -> [(name: String, value: String)] {
        (hop?.response.headerFields ?? [:]).map { ($0.name.rawName, $0.value) }
    }

    private static func header(_ name: String, separator: String?, _ record: TransferRecord) -> String {
        guard let name = HTTPField.Name(name) else { return "" }
        guard let separator else { return record.lastHop?.response.headerFields[values: name].first ?? "" }
        return record.hops.flatMap { $0.response.headerFields[values: name] }.joined(separator: separator)
    }

    /// Writes the pieces. If a file cannot be written, its text goes to the previous destination.
    ///
    /// - Throws: ``CommandFailure`` if standard output cannot be written.
    static func write(_ pieces: [Piece]) throws(CommandFailure) {
        var file: FileDescriptor?
        defer { try? file?.close() }
        var destination = Destination.standardOutput
        for piece in pieces {
            switch piece.destination {
            case .file(let path, let appends):
                if let next = try? FileDescriptor.open(path, appends ? .append : .truncate) {
                    try? file?.close()
                    file = next
                    destination = piece.destination
                }
            case .standardOutput, .standardError: destination = piece.destination
            }
            guard !piece.text.isEmpty else { continue }
            switch destination {
            case .standardOutput: try StandardOutput.write(piece.text.utf8)
            case .standardError: Terminal.standardError.write(piece.text)
            case .file: try? file?.write(piece.text.utf8)
            }
        }
    }
}
