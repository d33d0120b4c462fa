// SPDX-License-Identifier: Apache-2.0

import Names

/// The query of a URL, built value by value.
struct QueryString {
    private(set) var text = ""

    /// Adds a value, percent-encoded; nil and empty ones are left out.
    mutating func add(_ name: String, _ value: String?) {
        guard let value, !value.isEmpty else { return }
        if !text.isEmpty { text += "&" }
        text += PercentEncoding.encode(name, keeping: .unreserved)
        text += "=" + PercentEncoding.encode(value, keeping: .unreserved)
    }

    /// Adds a whole number.
    mutating func add(_ name: String, _ value: Int64) {
        add(name, String(value))
    }
}
