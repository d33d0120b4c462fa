// SPDX-License-Identifier: Apache-2.0

package import Names

/// The hosts of a `no_proxy` list, which the client reaches without a proxy.
///
/// Commas or spaces separate the entries. An entry is a domain (which includes its subdomains, with or without a leading dot),
/// an address, a network in CIDR form, any of them with `:port` (an IPv6 address then in brackets), `<local>` for names without
/// a dot, or `*` for every host.
public struct ProxyExceptions: Sendable, Hashable {
    private enum Entry: Sendable, Hashable {
        case all
        case simpleNames
        case domain(String, port: UInt16?)
        case network(IPNetwork, port: UInt16?)
    }

    private var entries: [Entry] = []

    /// No exceptions.
    public init() {}

    /// Parses a list. Entries that are not valid are ignored, as in curl.
    public init(parsing list: String) {
        entries = list.split { $0 == "," || $0 == " " }.compactMap { Self.entry(String($0)) }
    }

    package func contains(_ origin: Origin) -> Bool {
        entries.contains { entry in
            switch entry {
            case .all: true
            case .simpleNames: origin.host.address == nil && !origin.host.text.contains(".")
            case .domain(let domain, let port):
                (port ?? origin.port) == origin.port && Self.is(origin.host, below: domain)
            case .network(let network, let port):
                (port ?? origin.port) == origin.port && origin.host.address.map(network.contains) ?? false
            }
        }
    }

    private static func entry(_ text: String) -> Entry? {
        if text == "*" { return .all }
        if text == "<local>" { return .simpleNames }
        // Without its brackets, [::1]:8443 would be the address ::1:8443.
        if !text.contains("]:"), let network = network(text) { return .network(network, port: nil) }
        var name = Substring(text)
        var port: UInt16?
        if let colon = name.lastIndex(of: ":") {
            guard let number = UInt16(name[name.index(after: colon)...]) else { return nil }
            port = number
            name = name[..<colon]
            if let network = network(name) { return .network(network, port: port) }
        }
        while name.hasPrefix(".") || name.hasPrefix("*.") { name = name.dropFirst() }
        return (try? Host(name)).map { .domain(Self.name(of: $0), port: port) }
    }

    /// Parses an address or a network, with or without brackets.
    private static func network(_ text: some StringProtocol) -> IPNetwork? {
        IPNetwork(String(text).filter { $0 != "[" && $0 != "]" })
    }

    private static func `is`(_ host: Host, below domain: String) -> Bool {
        guard host.address == nil else { return false }
        let name = name(of: host)
        return name == domain || name.hasSuffix("." + domain)
    }

    /// The name without a trailing dot: the dot makes a name absolute but does not change it.
    private static func name(of host: Host) -> String { host.dnsName ?? host.text }
}
