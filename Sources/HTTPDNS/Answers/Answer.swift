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

    private struct Parts: Hashable {
        var v4: Records?
        var v6: Records?
        var clientAddress: IPAddress?
        var extra: String?
        var isShared = false
    }

    /// The parts in one place for all copies, of which each look-up makes several.
    private final class Box: Sendable {
        let parts: Parts

        init(_ parts: Parts) { self.parts = parts }
    }

    private static let nothing = Box(Parts())

    private var box: Box
    private var parts: Parts {
        get { box.parts }
        set { box = Box(newValue) }
    }

    /// What was said of IPv4; nil where nothing was.
    public var v4: Records? {
        get { box.parts.v4 }
        set { parts.v4 = newValue }
    }
    /// What was said of IPv6; nil where nothing was.
    public var v6: Records? {
        get { box.parts.v6 }
        set { parts.v6 = newValue }
    }
    /// The address that the upstream took for the client's, where it tells.
    public var clientAddress: IPAddress? {
        get { box.parts.clientAddress }
        set { parts.clientAddress = newValue }
    }
    /// What the upstream says besides addresses, such as the answer of Aliyun's software-defined resolution.
    public var extra: String? {
        get { box.parts.extra }
        set { parts.extra = newValue }
    }
    /// Whether it was said to another resolver; see ``SharedAnswers``.
    var isShared: Bool {
        get { box.parts.isShared }
        set { parts.isShared = newValue }
    }

    /// An answer that says nothing.
    public init() { box = Self.nothing }

    /// An answer of parts.
    public init(v4: Records? = nil, v6: Records? = nil, clientAddress: IPAddress? = nil, extra: String? = nil) {
        box = Box(Parts(v4: v4, v6: v6, clientAddress: clientAddress, extra: extra))
    }

    /// Whether they say the same.
    public static func == (one: Answer, other: Answer) -> Bool {
        one.box === other.box || one.box.parts == other.box.parts
    }

    /// See ``==(_:_:)``.
    public func hash(into hasher: inout Hasher) { hasher.combine(box.parts) }

    /// Adds what another answer says; of what both say, the other's counts.
    mutating func add(_ other: Answer) {
        if box === Self.nothing {
            box = other.box
            return
        }
        let (own, new) = (box.parts, other.box.parts)
        parts = Parts(
            v4: new.v4 ?? own.v4,
            v6: new.v6 ?? own.v6,
            clientAddress: new.clientAddress ?? own.clientAddress,
            extra: new.extra ?? own.extra,
            isShared: new.isShared || own.isShared
        )
    }

    /// What was said of a family.
    public subscript(family: IPAddress.Family) -> Records? {
        get { family == .v4 ? v4 : v6 }
        set { if family == .v4 { v4 = newValue } else { v6 = newValue } }
    }

    /// Whether there is an address of one of these families.
    func hasAddresses(of families: Families) -> Bool {
        let isThere = { (records: Records) in !records.addresses.isEmpty }
        return families.contains(.v4) && (v4.map(isThere) ?? false)
            || families.contains(.v6) && (v6.map(isThere) ?? false)
    }

    /// The families of which something was said.
    public var families: Families {
        var families: Families = []
        if v4 != nil { families.insert(.v4) }
        if v6 != nil { families.insert(.v6) }
        return families
    }
}
