// SPDX-License-Identifier: Apache-2.0

package import HTTPDNS

extension JSONValue {
    /// Returns the elements of a required array in an answer.
    ///
    /// - Throws: ``WebDriverError``: `refused` if the array is missing. It must not count as empty, because that would delete
    ///   all cookies.
    static func list(_ value: JSONValue?, _ name: String) throws(WebDriverError) -> [JSONValue] {
        guard let list = value?.array else {
            throw WebDriverError(
                .refused,
                "the browser's answer has no list of \(name); this library may be too old for it"
            )
        }
        return list
    }

    /// Makes a number from an integer.
    static func number(_ value: some BinaryInteger) -> JSONValue { .number("\(value)") }

    /// The number as a double; nil for other types.
    var double: Double? {
        if case .number(let digits) = self { Double(digits) } else { nil }
    }

    /// The Boolean; nil for other types.
    var bool: Bool? {
        if case .bool(let value) = self { value } else { nil }
    }
}

extension JSONValue: ExpressibleByStringLiteral {
    package init(stringLiteral value: String) { self = .string(value) }
}

extension JSONValue: ExpressibleByBooleanLiteral {
    package init(booleanLiteral value: Bool) { self = .bool(value) }
}

extension JSONValue: ExpressibleByArrayLiteral {
    package init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
}

extension JSONValue: ExpressibleByDictionaryLiteral {
    package init(dictionaryLiteral elements: (String, JSONValue)...) {
        self = .object(Dictionary(elements) { $1 })
    }
}
