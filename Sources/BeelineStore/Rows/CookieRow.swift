// SPDX-License-Identifier: Apache-2.0

import CookieJar
import Foundation
import GRDB

/// A cookie with its bookkeeping columns, and the order of all columns.
struct CookieRow: Hashable, Sendable {
    var cookie: Cookie
    /// The time of the last change in microseconds since 1970, by the clock of the process that made it.
    var updated: Int64
    /// The revision of the batch that wrote the change.
    var revision: Int64

    static let keyColumns = "domain, is_host_only, path, partition, name"
    static let columns =
        keyColumns + ", value, created, accessed, expires, is_secure, is_http_only, same_site, updated, revision"

    init(_ cookie: Cookie, updated: Int64, revision: Int64) {
        self.cookie = cookie
        self.updated = updated
        self.revision = revision
    }

    /// Reads the values of ``columns``; nil if they are not a valid cookie.
    init?(_ reader: inout RowReader) {
        guard let key = CookieKey(&reader), let value = reader.octets(), let created = reader.integer(),
            let accessed = reader.integer(), let expires = reader.optionalInteger(), let isSecure = reader.boolean(),
            let isHTTPOnly = reader.boolean(),
            let sameSite = reader.integer().flatMap({ UInt8(exactly: $0) }).flatMap(Cookie.SameSite.init(rawValue:)),
            let updated = reader.integer(), let revision = reader.integer()
        else { return nil }
        self.updated = updated
        self.revision = revision
        cookie = key.cookie
        cookie.valueOctets = value
        cookie.created = CookieTime(microseconds: created)
        cookie.lastAccessed = CookieTime(microseconds: accessed)
        cookie.expires = expires.map { CookieTime(microseconds: $0) }
        cookie.isSecure = isSecure
        cookie.isHTTPOnly = isHTTPOnly
        cookie.sameSite = sameSite
    }

    /// The values of ``columns``.
    var arguments: [any DatabaseValueConvertible] {
        let cookie = cookie
        // Split to help the type checker.
        let times: [any DatabaseValueConvertible] = [
            cookie.created.microseconds, cookie.lastAccessed.microseconds,
            cookie.expires?.microseconds.databaseValue ?? DatabaseValue.null,
        ]
        let flags: [any DatabaseValueConvertible] = [
            cookie.isSecure, cookie.isHTTPOnly, Int64(cookie.sameSite.rawValue),
        ]
        return CookieKey(cookie).arguments + [Data(cookie.valueOctets)] + times + flags + [updated, revision]
    }
}

extension CookieKey {
    /// Reads the key columns of a row; nil if they are invalid.
    init?(_ reader: inout RowReader) {
        guard let domain = reader.text(), let isHostOnly = reader.boolean(), let path = reader.text(),
            let partition = reader.text(), let name = reader.octets()
        else { return nil }
        self.init(checking: domain, isHostOnly: isHostOnly, path: path, partition: partition, name: name)
    }

    /// The values of ``CookieRow/keyColumns``.
    var arguments: [any DatabaseValueConvertible] { [domain, isHostOnly, path, partition, Data(name)] }
}
