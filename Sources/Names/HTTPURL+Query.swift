// SPDX-License-Identifier: Apache-2.0

extension HTTPURL {
    /// Adds parameters to the query, after those that it has. Names and values are percent-encoded, so they may contain any
    /// character.
    ///
    /// ```swift
    /// let url = try HTTPURL("https://api.example.com/search").adding(query: ["q": "bees & honey"])
    /// let response = try await client.get("\(url)")  // /search?q=bees%20%26%20honey
    /// ```
    ///
    /// - Parameter parameters: Names and values, in sending order. A name may occur several times.
    /// - Throws: ``NameError`` with code `malformedURL` if the URL becomes too long.
    public func adding(query parameters: KeyValuePairs<String, String>) throws(NameError) -> HTTPURL {
        try adding(query: parameters.map { ($0.key, $0.value) })
    }

    /// Adds parameters to the query, after those that it has. Names and values are percent-encoded, so they may contain any
    /// character.
    ///
    /// - Parameter parameters: Names and values, in sending order. A name may occur several times.
    /// - Throws: ``NameError`` with code `malformedURL` if the URL becomes too long.
    public func adding(query parameters: [(name: String, value: String)]) throws(NameError) -> HTTPURL {
        guard !parameters.isEmpty else { return self }
        let added = parameters.map { name, value in
            "\(PercentEncoding.encode(name, keeping: .unreserved))=\(PercentEncoding.encode(value, keeping: .unreserved))"
        }
        let present = (query ?? "").isEmpty ? [] : [query ?? ""]
        return try resolving("?" + (present + added).joined(separator: "&"))
    }
}
