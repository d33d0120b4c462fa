// SPDX-License-Identifier: Apache-2.0

import HTTPTypes

/// The field lines of a connection's last response and their parsed fields. Servers repeat most lines in every response, and
/// comparing a line costs a fraction of parsing it. HPACK's dynamic table does the same for HTTP/2.
struct HTTP1HeadMemo {
    /// A class, because copying a struct would retain each of its strings.
    final class Line: Sendable {
        /// The raw line with its line ending.
        fileprivate let bytes: [UInt8]
        let field: HTTPField
        let role: FieldNames.Role?
        var length: Int { bytes.count }

        fileprivate init(bytes: [UInt8], field: HTTPField, role: FieldNames.Role?) {
            self.bytes = bytes
            self.field = field
            self.role = role
        }
    }

    /// The limits of remembered lines, in bytes and in number. They keep the memory of an idle connection small.
    private static let longestLine = 128
    private static let mostLines = 16

    private var lines: [Line?] = []

    /// The remembered line with this number, if `text` begins with the same bytes.
    func line(_ number: Int, in text: UnsafeRawBufferPointer) -> Line? {
        guard number < lines.count, let line = lines[number], text.contains(line.bytes, at: 0) else { return nil }
        return line
    }

    /// Remembers the parsed field of a line.
    ///
    /// - Parameter bytes: the line with its line ending; without it, a longer line could match as a prefix.
    mutating func note(_ number: Int, _ bytes: UnsafeRawBufferPointer, _ field: HTTPField, _ role: FieldNames.Role?) {
        guard number <= lines.count, number < Self.mostLines else { return }
        let isKept = bytes.count <= Self.longestLine && bytes.last == UInt8(ascii: "\n")
        let line = isKept ? Line(bytes: Array(bytes), field: field, role: role) : nil
        if number == lines.count { lines.append(line) } else { lines[number] = line }
    }
}
