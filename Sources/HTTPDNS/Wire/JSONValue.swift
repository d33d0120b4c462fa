// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A JSON value (RFC 8259) without a schema, because upstreams send formats that differ from their documentation.
package enum JSONValue: Hashable, Sendable {
    case null
    case bool(Bool)
    /// The number as decimal text.
    case number(String)
    case string(String)
    case array([JSONValue])
    case object([String: JSONValue])

    /// The maximum nesting depth. Decoding tries each type in turn, and each error costs more at a greater depth.
    static let maxDepth = 16
    /// The maximum number of values in an upstream's answer, so that a hostile answer takes only a few milliseconds on
    /// the event loop.
    package static let maxValues = 4_096

    /// Parses a text; nil if it is not JSON, or may have more values than `limit`.
    package init?(_ octets: [UInt8], limit: Int = Self.maxValues) {
        // A value starts the text or follows a bracket or a comma. Brackets and commas in strings count too.
        let marks = octets.count { octet in
            octet == UInt8(ascii: ",") || octet == UInt8(ascii: "[") || octet == UInt8(ascii: "{")
        }
        guard marks <= limit else { return nil }
        guard let value = try? JSONDecoder().decode(JSONValue.self, from: Data(octets)) else { return nil }
        self = value
    }

    /// The value as JSON text, with members sorted by name.
    package var text: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Encoding a value cannot fail.
        return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? "null"
    }

    /// The member of an object with this name.
    package subscript(name: String) -> JSONValue? {
        if case .object(let members) = self { members[name] } else { nil }
    }

    /// The text of a string.
    package var string: String? {
        if case .string(let text) = self { text } else { nil }
    }

    /// The elements of an array.
    package var array: [JSONValue]? {
        if case .array(let elements) = self { elements } else { nil }
    }

    /// The members of an object.
    package var object: [String: JSONValue]? {
        if case .object(let members) = self { members } else { nil }
    }

    /// An integer, also if it was sent as a string.
    package var integer: Int64? {
        switch self {
        case .number(let digits), .string(let digits): Int64(digits)
        default: nil
        }
    }

    /// A TTL in seconds; nil if it is not valid.
    var seconds: Duration? {
        integer.flatMap { (0...Int64(Int32.max)).contains($0) ? Duration.seconds($0) : nil }
    }

    /// The elements of an array, or this value alone.
    var elements: [JSONValue] { array ?? [self] }
}

extension JSONValue: Codable {
    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        // Each failed attempt costs an error; try the most frequent types first.
        if let text = try? container.decode(String.self) {
            self = .string(text)
        } else if let number = try? container.decode(Int64.self) {
            self = .number("\(number)")
        } else if container.decodeNil() {
            self = .null
        } else if decoder.codingPath.count < Self.maxDepth,
            let members = try? container.decode([String: JSONValue].self)
        {
            self = .object(members)
        } else if decoder.codingPath.count < Self.maxDepth, let elements = try? container.decode([JSONValue].self) {
            self = .array(elements)
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else {
            let value = try container.decode(Double.self)
            // Normalizes integers: 6e1 becomes 60.
            self = .number(Int64(exactly: value).map { "\($0)" } ?? "\(value)")
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .number(let digits):
            if let number = Int64(digits) {
                try container.encode(number)
            } else {
                try container.encode(Double(digits))
            }
        case .string(let text): try container.encode(text)
        case .array(let elements): try container.encode(elements)
        case .object(let members): try container.encode(members)
        }
    }
}
