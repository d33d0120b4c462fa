// SPDX-License-Identifier: Apache-2.0

import Beeline

/// The authentication scheme of `-u` or `-U`: curl's `--basic`, `--digest` and `--anyauth`, and those for a proxy.
enum AuthScheme: Hashable, Sendable {
    case basic
    case digest
    case any

    /// Combines the options as curl does: with Basic and Digest, the server chooses.
    init(basic: Bool, digest: Bool, anyauth: Bool) {
        self = anyauth || basic && digest ? .any : digest ? .digest : .basic
    }

    /// Returns the credentials; nil for Basic, which is sent as an Authorization field.
    func credentials(user: String, password: String) -> Credentials? {
        switch self {
        case .basic: nil
        case .digest: .digest(user: user, password: password)
        case .any: .any(user: user, password: password)
        }
    }
}
