// SPDX-License-Identifier: Apache-2.0

public import Names

/// What `no_proxy` lists: hosts that are reached without a proxy.
///
/// Entries are parted by commas or spaces: a domain (it and all below it, with or without a dot before it), an address, a
/// network in CIDR form, any of them with `:port`, `<local>` for names without a dot, or `*` for everything.
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

    /// Reads a list; entries that cannot be read are passed over, as curl does.
    public init(parsing list: String) {
        entries = list.split { $0 == "," || $0 == " " }.compactMap { Self.entry(String($0)) }
    }

    /// Whether an origin is excepted.
    public func contains(_ origin: Origin) -> Bool {
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
        if let network = IPNetwork(text) { return .network(network, port: nil) }
        if let address = IPAddress(text) { return IPNetwork(address).map { .network($0, port: nil) } }
        if let endpoint = Endpoint(text) {
            return IPNetwork(endpoint.address).map { .network($0, port: endpoint.port) }
        }
        var name = Substring(text)
        var port: UInt16?
        if let colon = name.lastIndex(of: ":") {
            guard let number = UInt16(name[name.index(after: colon)...]) else { return nil }
            port = number
            name = name[..<colon]
        }
        while name.hasPrefix(".") || name.hasPrefix("*.") { name = name.dropFirst() }
        return (try? Host(name)).map { .domain($0.text, port: port) }
    }

    private static func `is`(_ host: Host, below domain: String) -> Bool {
        host.address == nil && (host.text == domain || host.text.hasSuffix("." + domain))
    }
}

extension IPNetwork {
    fileprivate init?(_ address: IPAddress) {
        self.init(address, prefixLength: address.family == .v4 ? 32 : 128)
    }
}
