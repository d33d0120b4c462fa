// SPDX-License-Identifier: Apache-2.0

import CookieJar
import GRDB

/// Reads the table `cookies` of Chromium's `Cookies` in all versions. Encrypted values are skipped.
struct ChromiumCookies {
    private let table: BrowserTable

    init(_ table: BrowserTable) { self.table = table }

    private static let columns = [
        "top_frame_site_key", "host_key", "path", "name", "value", "encrypted_value", "creation_utc", "last_access_utc",
        "expires_utc", "has_expires", "is_secure|secure", "is_httponly|httponly", "samesite",
    ]
    /// Chromium's epoch, 1 January 1601, in microseconds since 1970.
    private static let epoch: Int64 = -11_644_473_600_000_000

    func read(_ db: Database) throws -> CookieImport {
        var result = CookieImport()
        try table.forEachRow(db, columns: Self.columns, orderedBy: "creation_utc") { row, number in
            var partition: Site?
            if let key = row.text(), !key.isEmpty {
                partition = Site(key)
                if partition == nil { return result.skip(line: number, "its top_frame_site_key is not a site") }
            }
            guard let host = row.text(), let path = row.text(), let name = row.octets(), let value = row.octets() else {
                return result.skip(line: number, "a column is missing or of another type")
            }
            if let encrypted = row.octets(), !encrypted.isEmpty, value.isEmpty {
                return result.skip(line: number, "its value is encrypted with a key that only the browser can get")
            }
            var cookie = Cookie(nameOctets: name, valueOctets: value, domain: host, path: path, partition: partition)
            cookie.setScope(host)
            guard cookie.setAttributes(&row, epoch: Self.epoch) else {
                return result.skip(line: number, "a column is missing or of another type")
            }
            result.add(cookie, line: number)
        }
        return result
    }
}

extension Cookie {
    /// Reads the columns from `creation_utc` on; false if one is missing.
    fileprivate mutating func setAttributes(_ row: inout RowReader, epoch: Int64) -> Bool {
        guard let created = row.integer(), let accessed = row.optionalInteger(), let expires = row.integer(),
            let hasExpires = row.optionalInteger(), let isSecure = row.integer(), let isHTTPOnly = row.integer()
        else { return false }
        self.created = CookieTime(created, unit: 1, epoch: epoch)
        // 0 means that the cookie was never sent.
        lastAccessed = accessed.map { $0 == 0 ? self.created : CookieTime($0, unit: 1, epoch: epoch) } ?? self.created
        self.expires = hasExpires ?? 1 == 0 || expires == 0 ? nil : CookieTime(expires, unit: 1, epoch: epoch)
        self.isSecure = isSecure != 0
        self.isHTTPOnly = isHTTPOnly != 0
        sameSite =
            switch row.integer() {
            case 0: self.isSecure ? .none : .unspecified
            case 1: .lax
            case 2: .strict
            default: .unspecified
            }
        return true
    }
}
