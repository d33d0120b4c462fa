// SPDX-License-Identifier: Apache-2.0

import Names

/// Builds the query of a URL.
struct QueryString {
    private(set) var text = ""

    /// Adds a percent-encoded value; nil and empty values are left out.
    mutating func add(_ name: String, _ value: String?) {
        guard let value, !value.isEmpty else { return }
        if !text.isEmpty { text += "&" }
        text += PercentEncoding.encode(name, keeping: .unreserved)
        text += "=" + PercentEncoding.encode(value, keeping: .unreserved)
    }

    /// Adds an integer.
    mutating func add(_ name: String, _ value: Int64) {
        add(name, String(value))
    }
}
