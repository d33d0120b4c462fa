// SPDX-License-Identifier: Apache-2.0

import Names

/// A URL, or a file of `-T`, with patterns that stand for several texts: `{a,b}`, `[1-9]`, `[001-100:5]`, `[a-z]`. A
/// pattern may have a name, as in `{<site>a,b}`.
///
/// The texts are made one at a time, so that `[1-1000000]` needs no memory.
struct URLPattern: Hashable, Sendable {
    /// One of the texts.
    struct Expansion: Hashable, Sendable {
        var text: String
        /// The choices of the patterns, for `#1`, `#2`, … in the name of an output file.
        var choices: [String] = []
        /// The choices by the patterns' names, for `#<name>`.
        var named: [String: String] = [:]
    }

    fileprivate enum Choices: Hashable, Sendable {
        case set([String])
        case numbers(from: Int64, step: Int64, width: Int, count: Int64)
        case letters(from: UInt8, step: UInt8, count: Int64)
    }

    private enum Component: Hashable, Sendable {
        case literal(String)
        case pattern(Choices, name: String?)
    }

    /// The maximum number of patterns in one text, and of elements in one `{}`.
    static let limits = (patterns: 255, elements: 100_000)

    private let components: [Component]
    /// The number of texts.
    let count: Int64

    /// Makes a pattern that stands for one text, as with `--globoff`.
    init(literal text: String) {
        components = [.literal(text)]
        count = 1
    }

    /// Parses a pattern.
    ///
    /// - Throws: ``CommandFailure`` with status `malformedURL` and the position of the fault.
    init(_ text: String) throws(CommandFailure) {
        var parser = Parser(text)
        components = try parser.components()
        count = parser.count
    }

    /// Returns a text. The last pattern changes fastest.
    func text(at index: Int64) -> Expansion {
        var rest = index
        var pieces: [String] = []
        var expansion = Expansion(text: "")
        for component in components.reversed() {
            switch component {
            case .literal(let text): pieces.append(text)
            case .pattern(let choices, let name):
                let choice = choices[rest % choices.count]
                rest /= choices.count
                pieces.append(choice)
                expansion.choices.append(choice)
                if let name { expansion.named[name] = choice }
            }
        }
        expansion.text = pieces.reversed().joined()
        expansion.choices.reverse()
        return expansion
    }

    private struct Parser {
        private let text: String
        private let bytes: [UInt8]
        private var place = 0
        private(set) var count: Int64 = 1
        private var names: Set<String> = []

        init(_ text: String) {
            self.text = text
            bytes = Array(text.utf8)
        }

        private var next: UInt8? { place < bytes.count ? bytes[place] : nil }

        mutating func components() throws(CommandFailure) -> [Component] {
            var components: [Component] = []
            var literal: [UInt8] = []
            func flushed() -> [Component] {
                literal.isEmpty ? [] : [.literal(String(decoding: literal, as: UTF8.self))]
            }
            while let byte = next {
                switch byte {
                case UInt8(ascii: "\\") where place + 1 < bytes.count && Self.isSpecial(bytes[place + 1]):
                    literal.append(bytes[place + 1])
                    place += 2
                case UInt8(ascii: "}"), UInt8(ascii: "]"): throw wrong("a closing bracket without an opening one")
                case UInt8(ascii: "[") where literalLength > 0:
                    literal += bytes[place..<place + literalLength]
                    place += literalLength
                case UInt8(ascii: "{"), UInt8(ascii: "["):
                    components += flushed()
                    literal = []
                    components.append(try pattern())
                    guard components.count <= URLPattern.limits.patterns else { throw wrong("too many patterns") }
                default:
                    literal.append(byte)
                    place += 1
                }
            }
            return components + flushed()
        }

        private static func isSpecial(_ byte: UInt8) -> Bool { Array("{}[]".utf8).contains(byte) }

        /// The length of `[]` or of an IPv6 address in brackets, which are not patterns; 0 for a pattern.
        private var literalLength: Int {
            guard let end = bytes[place...].firstIndex(of: UInt8(ascii: "]")) else { return 0 }
            let content = bytes[place + 1..<end]
            if content.isEmpty { return 2 }
            let address = content.prefix { $0 != UInt8(ascii: "%") }
            return IPAddress(String(decoding: address, as: UTF8.self)) == nil ? 0 : end - place + 1
        }

        private mutating func pattern() throws(CommandFailure) -> Component {
            let isSet = next == UInt8(ascii: "{")
            place += 1
            let name = try takeName()
            let choices = isSet ? try set() : try range()
            let product = count.multipliedReportingOverflow(by: choices.count)
            guard !product.overflow else { throw wrong("too many URLs") }
            count = product.partialValue
            return .pattern(choices, name: name)
        }

        /// Takes `<name>`; nil if there is none.
        private mutating func takeName() throws(CommandFailure) -> String? {
            guard next == UInt8(ascii: "<"), let end = bytes[place...].firstIndex(of: UInt8(ascii: ">")),
                (place + 2...place + 65).contains(end)
            else { return nil }
            let name = String(decoding: bytes[place + 1..<end], as: UTF8.self)
            guard names.insert(name).inserted else { throw wrong("two patterns have the name \(name)") }
            place = end + 1
            return name
        }

        private mutating func set() throws(CommandFailure) -> Choices {
            let start = place
            var elements: [String] = []
            var element: [UInt8] = []
            while let byte = next {
                switch byte {
                case UInt8(ascii: "}") where place == start: throw wrong("empty braces")
                case UInt8(ascii: "}"), UInt8(ascii: ","):
                    elements.append(String(decoding: element, as: UTF8.self))
                    element = []
                    guard elements.count <= URLPattern.limits.elements else { throw wrong("too many elements") }
                    place += 1
                    if byte == UInt8(ascii: "}") { return .set(elements) }
                case UInt8(ascii: "{"), UInt8(ascii: "["): throw wrong("a pattern within a pattern")
                case UInt8(ascii: "]"): throw wrong("a closing bracket without an opening one")
                case UInt8(ascii: "\\") where place + 1 < bytes.count:
                    element.append(bytes[place + 1])
                    place += 2
                default:
                    element.append(byte)
                    place += 1
                }
            }
            throw wrong("a brace that is not closed")
        }

        /// Parses `1-9]`, `001-100:5]` or `a-z:2]`.
        private mutating func range() throws(CommandFailure) -> Choices {
            let start = place
            guard let end = bytes[place...].firstIndex(of: UInt8(ascii: "]")) else {
                throw wrong("a range that is not closed")
            }
            let parts = bytes[start..<end].split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
            let step = parts.count == 1 ? 1 : parts.count == 2 ? Self.number(parts[1]) : nil
            let ends = parts[0].split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
            guard ends.count == 2, let first = ends[0].first, let step, step > 0 else { throw wrong("a bad range") }
            place = end + 1
            if ends[0].count == 1, ends[1].count == 1, let last = ends[1].first, Self.isLetter(first),
                Self.isLetter(last)
            {
                let span = Int64(last) - Int64(first)
                // Other characters lie between capital and small letters.
                guard span == 0 ? step == 1 : span >= step && span <= 25 else { throw wrong("a bad range") }
                return .letters(from: first, step: UInt8(step), count: span / step + 1)
            }
            guard let from = Self.number(ends[0]), let to = Self.number(ends[1].drop { $0 == 0x20 }),
                from == to ? step == 1 : from < to && step <= to - from, to < Int64.max - step
            else { throw wrong("a bad range") }
            // Leading zeros determine the width of all numbers.
            let width = first == UInt8(ascii: "0") ? ends[0].count : 0
            return .numbers(from: from, step: step, width: width, count: (to - from) / step + 1)
        }

        private static func number(_ digits: ArraySlice<UInt8>) -> Int64? {
            guard !digits.isEmpty, digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
            return Int64(String(decoding: digits, as: UTF8.self))
        }

        private static func isLetter(_ byte: UInt8) -> Bool { (0x61...0x7a).contains(byte | 0x20) }

        private func wrong(_ what: String) -> CommandFailure {
            // The position counts in the text that is shown, which begins with "…@" if it had a login.
            let login = bytes.lastIndex(of: UInt8(ascii: "@")).map { $0 - 1 } ?? 0
            return CommandFailure(
                .malformedURL,
                "\"\(text.withoutLogin)\" has \(what) at position \(max(1, place + 1 - login)): "
                    + "write \\ before a bracket of the URL, or use -g"
            )
        }
    }
}

extension URLPattern.Choices {
    fileprivate var count: Int64 {
        switch self {
        case .set(let elements): Int64(elements.count)
        case .numbers(_, _, _, let count), .letters(_, _, let count): count
        }
    }

    fileprivate subscript(index: Int64) -> String {
        switch self {
        case .set(let elements): elements[Int(index)]
        case .letters(let from, let step, _): String(Unicode.Scalar(from + step * UInt8(index)))
        case .numbers(let from, let step, let width, _): "\(from + index * step)".leftPadded(to: width)
        }
    }
}
