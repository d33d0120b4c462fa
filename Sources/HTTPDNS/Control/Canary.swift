// SPDX-License-Identifier: Apache-2.0

import Crypto

/// The fraction of installations whose names go to the upstreams. The others use the system's resolver.
public struct Canary: Hashable, Sendable {
    /// The percentage of installations that take part, 0 to 100.
    package var percentage: Double
    /// A stable identifier of this installation. It is never sent.
    package var installation: String
    /// A salt; another one selects other installations. Default: empty.
    package var salt: String

    /// Creates the rule for this installation. An installation that takes part at one percentage takes part at every
    /// higher one.
    ///
    /// - Parameters:
    ///   - percentage: The percentage of installations that take part, 0 to 100.
    ///   - installation: A stable identifier of this installation. It is hashed and never sent.
    ///   - salt: Selects other installations. Default empty.
    public init(percentage: Double, installation: String, salt: String = "") {
        self.percentage = percentage
        self.installation = installation
        self.salt = salt
    }

    /// Whether this installation takes part.
    package var isIncluded: Bool { place < percentage / 100 }

    /// The installation's position among all, in 0..<1.
    var place: Double {
        let digest = SHA256.hash(data: Array("\(salt)\u{0}\(installation)".utf8))
        let bits = digest.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return Double(bits >> 11) / Double(UInt64(1) << 53)
    }
}
