// SPDX-License-Identifier: Apache-2.0

import CookieJar
import GRDB
import HTTPDNS

/// Reads the table `cookies` of Chromium's `Cookies` in all versions. Values that are encrypted with a key of the system are
/// skipped.
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
            guard let host = row.text(), let path = row.text(), let name = row.octets(), var value = row.octets() else {
                return result.skip(line: number, "a column is missing or of another type")
            }
            if let encrypted = row.octets(), !encrypted.isEmpty, value.isEmpty {
                guard let text = Self.decrypted(encrypted, host: host) else {
                    return result.skip(line: number, "its value is encrypted with a key that only the browser can get")
                }
                value = text
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

    /// Decrypts a value of Chromium on Linux without a keyring (`--password-store=basic`), whose key is the same everywhere.
    ///
    /// Since version 24 of the table (Chromium 130), the text begins with the SHA-256 of the host. Earlier values are not
    /// decrypted, because nothing shows that the key is the right one: on macOS they have the same mark and another key.
    private static func decrypted(_ sealed: [UInt8], host: String) -> [UInt8]? {
        let vector = [UInt8](repeating: UInt8(ascii: " "), count: 16)
        guard sealed.starts(with: "v10".utf8), let text = basicCipher?.open(vector + sealed.dropFirst(3)) else {
            return nil
        }
        let hash = Digests.sha256(Array(host.utf8))
        return text.starts(with: hash) ? Array(text.dropFirst(hash.count)) : nil
    }

    /// The key is PBKDF2-HMAC-SHA1 of the password `peanuts` with the salt `saltysalt` and one iteration.
    private static let basicCipher = AESCipher(
        .cbc,
        key: [0xfd, 0x62, 0x1f, 0xe5, 0xa2, 0xb4, 0x02, 0x53, 0x9d, 0xfa, 0x14, 0x7c, 0xa9, 0x27, 0x27, 0x78]
    )
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
