// SPDX-License-Identifier: Apache-2.0

import Names

/// User and password in the clear but for Base 64 (RFC 7617): for TLS only.
public struct BasicCredentials: Hashable, Sendable {
    /// The user; it holds no colon.
    public var user: String
    /// The password.
    public var password: String

    /// Credentials of parts.
    public init(user: String, password: String) {
        self.user = user
        self.password = password
    }

    /// The value of `Authorization` or `Proxy-Authorization`.
    public var fieldValue: String { "Basic " + Base64.encode(Array("\(user):\(password)".utf8)) }
}
