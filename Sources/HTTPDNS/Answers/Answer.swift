// SPDX-License-Identifier: Apache-2.0

public import Names

/// The answer of one upstream for one name.
public struct Answer: Hashable, Sendable {
    /// The answer for one family.
    public enum Records: Hashable, Sendable {
        /// Addresses, in the upstream's order. `ttl` is nil if the upstream does not specify it.
        case addresses([IPAddress], ttl: Duration?)
        /// No addresses. `ttl` is nil if the absence is not confirmed (no SOA, RFC 2308 §5). The next upstream is then
        /// asked too.
        case absent(Absence, ttl: Duration?)

        /// The addresses; empty if there are none.
        public var addresses: [IPAddress] {
            if case .addresses(let addresses, _) = self { addresses } else { [] }
        }

        /// How long the answer may be cached; nil if the upstream does not specify it.
        public var ttl: Duration? {
            switch self {
            case .addresses(_, let ttl), .absent(_, let ttl): ttl
            }
        }
    }

    /// The reason that there is no address.
    public enum Absence: Hashable, Sendable {
        /// The name exists but has no record of this family.
        case noRecord
        /// The name does not exist.
        case noName
    }

    private struct Parts: Hashable {
        var v4: Records?
        var v6: Records?
        var clientAddress: IPAddress?
        var extra: String?
        var isShared = false
    }

    /// One object for all copies, because each lookup makes several.
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

    /// The answer for IPv4; nil if there is none.
    public var v4: Records? {
        get { box.parts.v4 }
        set { parts.v4 = newValue }
    }
    /// The answer for IPv6; nil if there is none.
    public var v6: Records? {
        get { box.parts.v6 }
        set { parts.v6 = newValue }
    }
    /// The client's address as seen by the upstream, if it reports it.
    public var clientAddress: IPAddress? {
        get { box.parts.clientAddress }
        set { parts.clientAddress = newValue }
    }
    /// Further content from the upstream, such as the answer of Aliyun's software-defined resolution.
    public var extra: String? {
        get { box.parts.extra }
        set { parts.extra = newValue }
    }
    /// Whether another resolver received this answer; see ``SharedAnswers``.
    var isShared: Bool {
        get { box.parts.isShared }
        set { parts.isShared = newValue }
    }

    /// An answer without content.
    public init() { box = Self.nothing }

    /// An answer with content for each family.
    public init(v4: Records? = nil, v6: Records? = nil, clientAddress: IPAddress? = nil, extra: String? = nil) {
        box = Box(Parts(v4: v4, v6: v6, clientAddress: clientAddress, extra: extra))
    }

    /// The answer for a name with these addresses: a family without an address has no record.
    init(_ addresses: [IPAddress], families: Families, ttl: Duration?) {
        self.init()
        for family in families.members {
            let found = addresses.filter { $0.family == family }
            self[family] = found.isEmpty ? .absent(.noRecord, ttl: ttl) : .addresses(found, ttl: ttl)
        }
    }

    /// Whether the answers have the same content.
    public static func == (one: Answer, other: Answer) -> Bool {
        one.box === other.box || one.box.parts == other.box.parts
    }

    /// See ``==(_:_:)``.
    public func hash(into hasher: inout Hasher) { hasher.combine(box.parts) }

    /// Adds the content of another answer, which replaces existing content.
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

    /// The answer for a family.
    package subscript(family: IPAddress.Family) -> Records? {
        get { family == .v4 ? v4 : v6 }
        set { if family == .v4 { v4 = newValue } else { v6 = newValue } }
    }

    /// Whether there is an address of one of these families.
    func hasAddresses(of families: Families) -> Bool {
        let isThere = { (records: Records) in !records.addresses.isEmpty }
        return families.contains(.v4) && (v4.map(isThere) ?? false)
            || families.contains(.v6) && (v6.map(isThere) ?? false)
    }

    /// The families that the answer covers.
    package var families: Families {
        var families: Families = []
        if v4 != nil { families.insert(.v4) }
        if v6 != nil { families.insert(.v6) }
        return families
    }
}
