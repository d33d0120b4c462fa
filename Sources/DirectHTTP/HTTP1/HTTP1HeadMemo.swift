// SPDX-License-Identifier: Apache-2.0

import HTTPTypes

/// The field lines of a connection's last response, with what they were read as. A server repeats most of them in every
/// response, and to compare a line costs a fraction of reading it: what HPACK's table is to HTTP/2.
struct HTTP1HeadMemo {
    /// An object: a copy of its texts would count each of them.
    final class Line: Sendable {
        /// The line as it came, with its end.
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

    /// Longer lines, and those behind so many, are not remembered: a connection that rests shall hold little.
    private static let longestLine = 128
    private static let mostLines = 16

    private var lines: [Line?] = []

    /// The line with this number, where the text begins with the same one as last time.
    func line(_ number: Int, in text: UnsafeRawBufferPointer) -> Line? {
        guard number < lines.count, let line = lines[number], text.contains(line.bytes, at: 0) else { return nil }
        return line
    }

    /// Remembers how a line was read.
    ///
    /// - Parameter bytes: the line with its end, without which another line could begin with it.
    mutating func note(_ number: Int, _ bytes: UnsafeRawBufferPointer, _ field: HTTPField, _ role: FieldNames.Role?) {
        guard number <= lines.count, number < Self.mostLines else { return }
        let isKept = bytes.count <= Self.longestLine && bytes.last == UInt8(ascii: "\n")
        let line = isKept ? Line(bytes: Array(bytes), field: field, role: role) : nil
        if number == lines.count { lines.append(line) } else { lines[number] = line }
    }
}
