// SPDX-License-Identifier: Apache-2.0

import Names

/// User and password for Basic (RFC 7617), encoded in Base64 but not encrypted. Use them only over TLS.
package struct BasicCredentials: Hashable, Sendable {
    /// The user; must not contain a colon.
    package var user: String
    package var password: String

    package init(user: String, password: String) {
        self.user = user
        self.password = password
    }

    /// The value of `Authorization` or `Proxy-Authorization`.
    package var fieldValue: String { "Basic " + Base64.encode(Array("\(user):\(password)".utf8)) }
}
