// SPDX-License-Identifier: Apache-2.0

public import Names

/// Names and their addresses, as in a hosts(5) file.
public struct HostsTable: Hashable, Sendable {
    /// The maximum number of names parsed from a text; further lines are ignored.
    package static let maxNames = 1_000_000
    /// The maximum number of addresses of one name; further ones are ignored.
    package static let maxAddresses = 1_000

    private var addresses: [String: [IPAddress]] = [:]

    /// A table without names.
    public init() {}

    /// Parses a text in the format of hosts(5): each line has an address and then names; `#` starts a comment. Lines
    /// without an address or a name, and invalid names, are ignored. Names are compared in canonical form. The zone of
    /// an address is ignored. At most 1,000,000 names are read; further ones are ignored.
    public init(parsing text: some StringProtocol) {
        for line in text.octetLines {
            let words = line.prefix { $0 != UInt8(ascii: "#") }.split { $0 == 0x20 || $0 == 0x09 }
            // The zone of a link-local address is ignored.
            guard let first = words.first?.prefix(while: { $0 != UInt8(ascii: "%") }),
                let address = IPAddress(String(decoding: first, as: UTF8.self))
            else { continue }
            for word in words.dropFirst() {
                guard addresses.count < Self.maxNames else { return }
                if let host = try? Host(String(decoding: word, as: UTF8.self)) { add(address, for: host) }
            }
        }
    }

    /// Adds an address for a name. A name keeps at most 1,000 addresses; further ones and duplicates are ignored.
    public mutating func add(_ address: IPAddress, for host: Host) {
        let name = host.withoutFinalDot
        let known = addresses[name] ?? []
        // Without a bound, a file with one name in all lines would take hours, because each address is searched for.
        guard known.count < Self.maxAddresses, !known.contains(address) else { return }
        addresses[name, default: []].append(address)
    }

    /// Adds the names of another table, up to ``maxNames``. Names that this table already has keep their addresses.
    package mutating func merge(_ other: HostsTable) {
        guard count > 0 else { return self = other }
        for (name, list) in other.addresses where addresses.count < Self.maxNames {
            if addresses[name] == nil { addresses[name] = list }
        }
    }

    /// The names without a final dot, and their addresses.
    package var entries: [String: [IPAddress]] { addresses }

    /// The number of names in the table.
    package var count: Int { addresses.count }

    /// The addresses of a name, in the order of the table; nil if the name is not in it.
    public subscript(host: Host) -> [IPAddress]? { addresses[host.withoutFinalDot] }
}

extension StringProtocol {
    /// The lines in octets that are not empty, without a byte order mark, which editors on Windows write first.
    package var octetLines: [UTF8View.SubSequence] {
        let octets = utf8.starts(with: [0xef, 0xbb, 0xbf]) ? utf8.dropFirst(3) : utf8[...]
        return octets.split { $0 == 0x0a || $0 == 0x0d }
    }
}
