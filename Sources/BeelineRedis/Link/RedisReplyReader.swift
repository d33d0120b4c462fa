// SPDX-License-Identifier: Apache-2.0

#if Redis
/// Reads a server's replies (RESP2) from the octets of a connection, within limits.
///
/// hiredis has a reader too, but it reserves memory for as many elements as an array announces, so a few octets of a
/// faulty server could take gigabytes.
struct RedisReplyReader: Sendable {
    /// The limits of one reply.
    struct Limits: Hashable, Sendable {
        /// The maximum size in octets. A line of 4,096 octets may come in addition, because an error may replace a
        /// short reply.
        var octets: Int
        /// The maximum number of elements of all arrays together.
        var elements: Int
        /// The maximum depth of arrays in arrays.
        static let depth = 6
    }

    /// A reply that cannot be read. The connection is unusable after it.
    enum Failure: Error {
        case malformed
        case tooLarge
    }

    /// One element of a reply on the wire.
    private enum Element {
        case value(RedisValue)
        /// The start of an array with at least one element.
        case array(count: Int)
    }

    /// An array whose elements have not all arrived.
    private struct PartialArray {
        var values: [RedisValue] = []
        var left: Int
    }

    private var buffer: [UInt8] = []
    /// The index in the buffer after the elements that were read.
    private var start = 0
    /// The arrays of the present reply that are not complete, the outermost first.
    private var arrays: [PartialArray] = []
    /// The number of elements that the arrays of the present reply have announced.
    private var elements = 0
    /// The size of the elements of the present reply that were read.
    private var octets = 0

    /// Whether the buffer has no part of a further reply.
    var isIdle: Bool { start == buffer.count && arrays.isEmpty }

    /// Appends octets of the connection.
    mutating func append(_ octets: some Sequence<UInt8>) {
        if start > 0 {
            buffer.removeFirst(start)
            start = 0
        }
        buffer.append(contentsOf: octets)
    }

    /// Returns the next reply; nil if it is not complete yet. Elements that were read are not read again when more
    /// octets arrive.
    mutating func next(_ limits: Limits) throws(Failure) -> RedisValue? {
        while true {
            let begin = start
            let element = try element(limits)
            octets += start - begin
            let size = octets + (element == nil ? buffer.count - start : 0)
            guard size <= limits.octets + Self.maxLine else { throw .tooLarge }
            switch element {
            case nil: return nil
            case .array(let count): arrays.append(PartialArray(left: count))
            case .value(let value):
                guard let reply = add(value) else { continue }
                (elements, octets) = (0, 0)
                return reply
            }
        }
    }

    /// Adds a value to the innermost array, and each complete array to the one around it. Returns the reply if it is
    /// complete.
    private mutating func add(_ value: RedisValue) -> RedisValue? {
        var value = value
        while var array = arrays.popLast() {
            array.values.append(value)
            array.left -= 1
            guard array.left == 0 else {
                arrays.append(array)
                return nil
            }
            value = .array(array.values)
        }
        return value
    }

    /// Reads one element and moves ``start`` behind it. Nil if it is not complete yet.
    private mutating func element(_ limits: Limits) throws(Failure) -> Element? {
        var index = start
        guard let line = try line(at: &index), let kind = line.first else { return nil }
        let rest = line.dropFirst()
        let element: Element
        switch kind {
        case UInt8(ascii: "+"): element = .value(.octets(Array(rest)))
        case UInt8(ascii: "-"): element = .value(RedisValue(error: rest))
        case UInt8(ascii: ":"): element = .value(.integer(try Self.number(rest)))
        case UInt8(ascii: "$"):
            let count = try Self.number(rest)
            guard count >= 0 else {
                element = .value(.nothing)
                break
            }
            guard count <= limits.octets else { throw .tooLarge }
            let end = index + Int(count)
            guard buffer.count >= end + 2 else { return nil }
            guard buffer[end] == 0x0d, buffer[end + 1] == 0x0a else { throw .malformed }
            element = .value(.octets(Array(buffer[index..<end])))
            index = end + 2
        case UInt8(ascii: "*"):
            let count = try Self.number(rest)
            guard count > 0 else {
                element = .value(count < 0 ? .nothing : .array([]))
                break
            }
            guard count <= limits.elements - elements, arrays.count < Limits.depth else { throw .tooLarge }
            elements += Int(count)
            element = .array(count: Int(count))
        default: throw .malformed
        }
        start = index
        return element
    }

    /// The longest line to read. Texts of errors are shorter.
    private static let maxLine = 4_096

    /// Returns the line at an index without its end, and moves the index behind it. Nil if the line is not complete yet.
    private func line(at index: inout Int) throws(Failure) -> ArraySlice<UInt8>? {
        guard let end = buffer[index...].prefix(Self.maxLine).firstIndex(of: 0x0d) else {
            guard buffer.count - index < Self.maxLine else { throw .tooLarge }
            return nil
        }
        guard end + 1 < buffer.count else { return nil }
        guard buffer[end + 1] == 0x0a, end > index else { throw .malformed }
        defer { index = end + 2 }
        return buffer[index..<end]
    }

    private static func number(_ octets: ArraySlice<UInt8>) throws(Failure) -> Int64 {
        guard octets.count <= 20, let number = Int64(String(decoding: octets, as: UTF8.self)) else { throw .malformed }
        return number
    }
}
#endif
