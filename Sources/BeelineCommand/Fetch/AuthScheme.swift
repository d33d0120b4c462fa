// SPDX-License-Identifier: Apache-2.0

import Beeline

/// The authentication scheme of `-u`: curl's `--basic`, `--digest` and `--anyauth`.
enum AuthScheme: Hashable, Sendable {
    case basic
    case digest
    case any

    /// - Throws: ``CommandFailure`` if more than one option is given.
    init(_ arguments: RequestArguments) throws(CommandFailure) {
        guard [arguments.basic, arguments.digest, arguments.anyauth].count(where: \.self) < 2 else {
            throw CommandFailure(.usage, "--basic, --digest and --anyauth exclude each other")
        }
        self = arguments.digest ? .digest : arguments.anyauth ? .any : .basic
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
