// SPDX-License-Identifier: Apache-2.0

import Crypto

/// The part of all installations whose names go to the upstreams, while the others stay with the system's resolver.
public struct Canary: Hashable, Sendable {
    /// How many of a hundred installations take part, 0 to 100.
    public var percentage: Double
    /// What tells this installation from others; the same at each start. It is never sent.
    public var installation: String
    /// Another salt draws other installations. Default: empty.
    public var salt: String

    /// A canary.
    public init(percentage: Double, installation: String, salt: String = "") {
        self.percentage = percentage
        self.installation = installation
        self.salt = salt
    }

    /// Whether this installation takes part. One that does at some percentage does at each higher one.
    public var isIncluded: Bool { place < percentage / 100 }

    /// The installation's place among all, in 0..<1.
    var place: Double {
        let digest = SHA256.hash(data: Array("\(salt)\u{0}\(installation)".utf8))
        let bits = digest.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return Double(bits >> 11) / Double(UInt64(1) << 53)
    }
}
