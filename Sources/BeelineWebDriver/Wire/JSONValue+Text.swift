// SPDX-License-Identifier: Apache-2.0

package import HTTPDNS

extension JSONValue {
    /// The elements of an array that an answer must have.
    ///
    /// - Throws: ``WebDriverError``: `refused` where it is none. No list of cookies is not an empty one: that would delete all.
    static func list(_ value: JSONValue?, _ name: String) throws(WebDriverError) -> [JSONValue] {
        guard let list = value?.array else {
            throw WebDriverError(
                .refused,
                "the browser's answer has no list of \(name); this library may be too old for it"
            )
        }
        return list
    }

    /// A whole number.
    static func number(_ value: some BinaryInteger) -> JSONValue { .number("\(value)") }

    /// A number with or without a fraction.
    var double: Double? {
        if case .number(let digits) = self { Double(digits) } else { nil }
    }

    /// A truth value.
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
