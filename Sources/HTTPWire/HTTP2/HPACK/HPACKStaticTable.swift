// SPDX-License-Identifier: Apache-2.0

import HTTPTypes

/// The static table (RFC 7541 Appendix A). Its first index is 1.
package enum HPACKStaticTable {
    private static let rows: [(name: String, value: String)] = [
        (":authority", ""), (":method", "GET"), (":method", "POST"), (":path", "/"), (":path", "/index.html"),
        (":scheme", "http"), (":scheme", "https"), (":status", "200"), (":status", "204"), (":status", "206"),
        (":status", "304"), (":status", "400"), (":status", "404"), (":status", "500"), ("accept-charset", ""),
        ("accept-encoding", "gzip, deflate"), ("accept-language", ""), ("accept-ranges", ""), ("accept", ""),
        ("access-control-allow-origin", ""), ("age", ""), ("allow", ""), ("authorization", ""), ("cache-control", ""),
        ("content-disposition", ""), ("content-encoding", ""), ("content-language", ""), ("content-length", ""),
        ("content-location", ""), ("content-range", ""), ("content-type", ""), ("cookie", ""), ("date", ""),
        ("etag", ""), ("expect", ""), ("expires", ""), ("from", ""), ("host", ""), ("if-match", ""),
        ("if-modified-since", ""), ("if-none-match", ""), ("if-range", ""), ("if-unmodified-since", ""),
        ("last-modified", ""), ("link", ""), ("location", ""), ("max-forwards", ""), ("proxy-authenticate", ""),
        ("proxy-authorization", ""), ("range", ""), ("referer", ""), ("refresh", ""), ("retry-after", ""),
        ("server", ""), ("set-cookie", ""), ("strict-transport-security", ""), ("transfer-encoding", ""),
        ("user-agent", ""), ("vary", ""), ("via", ""), ("www-authenticate", ""),
    ]

    // The indices that requests use.
    package static let getIndex = 2
    package static let postIndex = 3
    static let pathIndex = 4
    package static let httpIndex = 6
    package static let httpsIndex = 7

    /// The fields; index 1 is at position 0.
    static let fields: [HPACKField] = rows.map { row in
        var (name, value) = row
        return name.withUTF8 { name in
            value.withUTF8 { HPACKField(name: UnsafeRawBufferPointer(name), value: UnsafeRawBufferPointer($0)) }
        }
    }

    static let indices: [String: Int] = Dictionary(
        rows.enumerated().map { ($0.element.name, $0.offset + 1) },
        uniquingKeysWith: { first, _ in first }
    )

    /// The index of a name and value; nil for an empty value.
    static func index(of name: String, _ value: String) -> Int? {
        guard var index = indices[name] else { return nil }
        while index <= rows.count, rows[index - 1].name == name {
            if !value.isEmpty, rows[index - 1].value == value { return index }
            index += 1
        }
        return nil
    }
}
