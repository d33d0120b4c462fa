// SPDX-License-Identifier: Apache-2.0

public import Names

/// Names and their addresses, as the file hosts(5) has them.
public struct HostsTable: Hashable, Sendable {
    /// Names that a table takes from a text, at most; the lines behind are left out.
    public static let maxNames = 1_000_000

    private var addresses: [String: [IPAddress]] = [:]

    /// A table without names.
    public init() {}

    /// Reads a text in the form of hosts(5): an address, then names, a `#` begins a comment. A line that has no
    /// address or no name, and a name that is none, are left out. Names are compared in their canonical form.
    public init(parsing text: some StringProtocol) {
        for line in text.utf8.split(whereSeparator: { $0 == 0x0a || $0 == 0x0d }) {
            let words = line.prefix { $0 != UInt8(ascii: "#") }.split { $0 == 0x20 || $0 == 0x09 }
            guard let first = words.first, let address = Self.address(String(decoding: first, as: UTF8.self)) else {
                continue
            }
            for word in words.dropFirst() {
                guard addresses.count < Self.maxNames else { return }
                if let host = try? Host(String(decoding: word, as: UTF8.self)) { add(address, for: host) }
            }
        }
    }

    /// Adds an address for a name.
    public mutating func add(_ address: IPAddress, for host: Host) {
        let name = Self.key(host)
        guard addresses[name]?.contains(address) != true else { return }
        addresses[name, default: []].append(address)
    }

    /// How many names the table has.
    public var count: Int { addresses.count }

    /// The addresses of a name, in the order of the table; nil where the table does not have the name.
    public subscript(host: Host) -> [IPAddress]? { addresses[Self.key(host)] }

    private static func key(_ host: Host) -> String { host.withoutFinalDot }

    /// An address, with the zone that a link-local one may have there left off.
    private static func address(_ text: String) -> IPAddress? {
        IPAddress(String(text.prefix { $0 != "%" }))
    }
}
