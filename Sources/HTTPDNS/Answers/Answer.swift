// SPDX-License-Identifier: Apache-2.0

public import Names

/// What one upstream said for one name.
public struct Answer: Hashable, Sendable {
    /// What was said of one family.
    public enum Records: Hashable, Sendable {
        /// There are these addresses, in the upstream's order. `ttl` nil: the upstream does not say how long.
        case addresses([IPAddress], ttl: Duration?)
        /// There are none. `ttl` nil: nobody vouches for it (no SOA, RFC 2308 §5), so the next upstream is asked too.
        case absent(Absence, ttl: Duration?)

        /// The addresses; empty where there are none.
        public var addresses: [IPAddress] {
            if case .addresses(let addresses, _) = self { addresses } else { [] }
        }

        /// How long the upstream lets it be kept.
        public var ttl: Duration? {
            switch self {
            case .addresses(_, let ttl), .absent(_, let ttl): ttl
            }
        }
    }

    /// Why there is no address.
    public enum Absence: Hashable, Sendable {
        /// The name exists and has no record of this family.
        case noRecord
        /// There is no such name.
        case noName
    }

    /// What was said of IPv4; nil where nothing was.
    public var v4: Records?
    /// What was said of IPv6; nil where nothing was.
    public var v6: Records?
    /// The address that the upstream took for the client's, where it tells.
    public var clientAddress: IPAddress?

    /// What the upstream says besides addresses, such as the answer of Aliyun's software-defined resolution.
    public var extra: String?
    /// Whether it was said to another resolver; see ``SharedAnswers``.
    var isShared = false

    /// An answer of parts.
    public init(v4: Records? = nil, v6: Records? = nil, clientAddress: IPAddress? = nil, extra: String? = nil) {
        self.v4 = v4
        self.v6 = v6
        self.clientAddress = clientAddress
        self.extra = extra
    }

    /// What was said of a family.
    public subscript(family: IPAddress.Family) -> Records? {
        get { family == .v4 ? v4 : v6 }
        set { if family == .v4 { v4 = newValue } else { v6 = newValue } }
    }

    /// The families of which something was said.
    public var families: Families {
        var families: Families = []
        if v4 != nil { families.insert(.v4) }
        if v6 != nil { families.insert(.v6) }
        return families
    }
}
