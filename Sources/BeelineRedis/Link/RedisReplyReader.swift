// SPDX-License-Identifier: Apache-2.0

#if Redis
/// Reads a server's replies (RESP2) from the octets of a connection, within limits.
///
/// hiredis has a reader too, but it reserves memory for as many elements as an array announces, so a few octets of a faulty
/// server could take gigabytes.
struct RedisReplyReader: Sendable {
    /// The limits of one reply.
    struct Limits: Hashable, Sendable {
        /// The maximum size in octets.
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

    private var buffer: [UInt8] = []
    private var start = 0
    /// The end of the part of the buffer that the next reply needs at least.
    private var wanted = 0

    /// Appends octets of the connection.
    mutating func append(_ octets: some Sequence<UInt8>) {
        if start > 0 {
            buffer.removeFirst(start)
            wanted -= start
            start = 0
        }
        buffer.append(contentsOf: octets)
    }

    /// Returns the next reply; nil if it is not complete yet.
    mutating func next(_ limits: Limits) throws(Failure) -> RedisValue? {
        guard start < buffer.count, buffer.count >= wanted else { return nil }
        var place = start
        var elements = limits.elements
        guard let value = try parse(at: &place, limits, elements: &elements, depth: 0) else {
            guard buffer.count - start <= limits.octets else { throw .tooLarge }
            return nil
        }
        start = place
        return value
    }

    private mutating func parse(
        at place: inout Int,
        _ limits: Limits,
        elements: inout Int,
        depth: Int
    ) throws(Failure) -> RedisValue? {
        guard let line = try line(at: &place), let kind = line.first else { return nil }
        let rest = line.dropFirst()
        switch kind {
        case UInt8(ascii: "+"): return .octets(Array(rest))
        case UInt8(ascii: "-"): return RedisValue(error: rest)
        case UInt8(ascii: ":"): return .integer(try Self.number(rest))
        case UInt8(ascii: "$"):
            let count = try Self.number(rest)
            guard count >= 0 else { return .nothing }
            guard count <= limits.octets else { throw .tooLarge }
            let end = place + Int(count)
            guard buffer.count >= end + 2 else {
                wanted = end + 2
                return nil
            }
            guard buffer[end] == 0x0d, buffer[end + 1] == 0x0a else { throw .malformed }
            defer { place = end + 2 }
            return .octets(Array(buffer[place..<end]))
        case UInt8(ascii: "*"):
            let count = try Self.number(rest)
            guard count >= 0 else { return .nothing }
            guard count <= elements, depth < Limits.depth else { throw .tooLarge }
            elements -= Int(count)
            var values: [RedisValue] = []
            for _ in 0..<count {
                guard let value = try parse(at: &place, limits, elements: &elements, depth: depth + 1) else {
                    return nil
                }
                values.append(value)
            }
            return .array(values)
        default: throw .malformed
        }
    }

    /// The longest line to read. Texts of errors are shorter.
    private static let maxLine = 4_096

    /// Returns the line at a place without its end, and moves the place behind it. Nil if the line is not complete yet.
    private func line(at place: inout Int) throws(Failure) -> ArraySlice<UInt8>? {
        guard let end = buffer[place...].prefix(Self.maxLine).firstIndex(of: 0x0d) else {
            guard buffer.count - place < Self.maxLine else { throw .tooLarge }
            return nil
        }
        guard end + 1 < buffer.count else { return nil }
        guard buffer[end + 1] == 0x0a, end > place else { throw .malformed }
        defer { place = end + 2 }
        return buffer[place..<end]
    }

    private static func number(_ octets: ArraySlice<UInt8>) throws(Failure) -> Int64 {
        guard octets.count <= 20, let number = Int64(String(decoding: octets, as: UTF8.self)) else { throw .malformed }
        return number
    }
}
#endif
