// SPDX-License-Identifier: Apache-2.0

import HTTPDNS

/// A master file (RFC 1035 §5.1) split into entries of words. Comments are removed, and lines in parentheses are joined.
struct ZoneText {
    /// A word. Escaped octets have bit 8 set, so that an escaped dot does not separate labels.
    struct Word: Hashable {
        var octets: [UInt16] = []
        var isQuoted = false

        /// The octets of the word without escapes. Octets beyond ASCII are unchanged.
        var plain: [UInt8] { octets.map { UInt8(truncatingIfNeeded: $0) } }
        var text: String { String(decoding: plain, as: UTF8.self) }
    }

    /// An entry: the words of one line, or of several lines that parentheses join.
    struct Entry {
        var line: Int
        /// Whether the line starts with a blank, so that the entry has the owner of the previous entry.
        var repeatsOwner: Bool
        var words: [Word] = []
    }

    private(set) var entries: [Entry] = []

    /// Splits the octets of a file.
    ///
    /// - Throws: ``ServerError`` with code `badZone` and the line's number.
    init(_ octets: [UInt8]) throws(ServerError) {
        var line = 1
        var depth = 0
        var entry: Entry?
        var word: Word?
        var index = 0
        func endWord() {
            if let done = word { entry?.words.append(done) }
            word = nil
        }
        func endEntry(_ all: inout [Entry]) {
            if let entry, !entry.words.isEmpty { all.append(entry) }
            entry = nil
        }
        func begin(_ blank: Bool) { if entry == nil { entry = Entry(line: line, repeatsOwner: blank) } }
        while index < octets.count {
            let octet = octets[index]
            index += 1
            switch octet {
            case UInt8(ascii: "\n"):
                endWord()
                if depth == 0 { endEntry(&entries) }
                line += 1
            case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r"):
                endWord()
                if octet != UInt8(ascii: "\r") { begin(true) }
            case UInt8(ascii: ";"):
                endWord()
                while index < octets.count, octets[index] != UInt8(ascii: "\n") { index += 1 }
            case UInt8(ascii: "("):
                endWord()
                begin(false)
                depth += 1
            case UInt8(ascii: ")"):
                endWord()
                depth -= 1
                guard depth >= 0 else { throw Self.error(line, "a ) without (") }
            case UInt8(ascii: "\""):
                // The quoted value of `key="…"` belongs to the same word as its key (RFC 9460 §2.1).
                if word?.octets.last != UInt16(UInt8(ascii: "=")) { endWord() }
                begin(false)
                var text = word ?? Word(isQuoted: true)
                word = nil
                while true {
                    guard index < octets.count, octets[index] != UInt8(ascii: "\n") else {
                        throw Self.error(line, "a \" without a closing one")
                    }
                    if octets[index] == UInt8(ascii: "\"") { break }
                    text.octets.append(try Self.readOctet(of: octets, at: &index, line: line))
                }
                index += 1
                entry?.words.append(text)
            default:
                begin(false)
                index -= 1
                let next = try Self.readOctet(of: octets, at: &index, line: line)
                if word == nil { word = Word() }
                word?.octets.append(next)
            }
        }
        endWord()
        guard depth == 0 else { throw Self.error(line, "a ( without )") }
        endEntry(&entries)
    }

    /// Reads the next octet and resolves `\X` and `\DDD`.
    private static func readOctet(of octets: [UInt8], at index: inout Int, line: Int) throws(ServerError) -> UInt16 {
        let octet = octets[index]
        index += 1
        guard octet == UInt8(ascii: "\\") else { return UInt16(octet) }
        guard index < octets.count, octets[index] != UInt8(ascii: "\n") else { throw error(line, "a \\ at the end") }
        var rest = octets[index...]
        guard let escaped = MasterText.takeEscaped(from: &rest) else {
            throw error(line, "after \\ write three digits up to 255")
        }
        index = rest.startIndex
        return 0x100 | UInt16(escaped)
    }

    static func error(_ line: Int, _ what: String) -> ServerError {
        ServerError(.badZone, "line \(line): \(what)")
    }
}
