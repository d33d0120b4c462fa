// SPDX-License-Identifier: Apache-2.0

/// JSON as in curl's `-w`: keys in a fixed order, no blanks.
enum CurlJSON {
    /// Returns a text in quotes. Control characters are escaped.
    static func string(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": result += "\\\\"
            case "\"": result += "\\\""
            case "\u{08}": result += "\\b"
            case "\u{0C}": result += "\\f"
            case "\n": result += "\\n"
            case "\r": result += "\\r"
            case "\t": result += "\\t"
            case _ where scalar.value < 0x20: result += "\\u" + String(scalar.value, radix: 16).leftPadded(to: 4)
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }

    /// Returns an object with an array for each field name of a response, one name a line. Names are in lower case, in
    /// the order of their first field.
    static func fields(_ fields: [(name: String, value: String)]) -> String {
        var names: [String] = []
        var values: [String: [String]] = [:]
        for (name, value) in fields {
            let name = name.lowercased()
            if values[name] == nil { names.append(name) }
            values[name, default: []].append(value)
        }
        let lines = names.map { name in
            "\(string(name)):[\((values[name] ?? []).map(string).joined(separator: ","))]"
        }
        return "{" + lines.joined(separator: ",\n") + "\n}"
    }
}
