// SPDX-License-Identifier: Apache-2.0

import HTTPDNS

/// What a server knows of record types besides those of the resolver.
extension DNSType {
    /// NS (RFC 1035 §3.3.11).
    static let nameServer = DNSType(rawValue: 2)
    /// PTR (RFC 1035 §3.3.12).
    static let pointer = DNSType(rawValue: 12)
    /// DNAME: an alias for all names below the owner (RFC 6672).
    static let subtreeAlias = DNSType(rawValue: 39)
    /// RRSIG.
    static let signature = DNSType(rawValue: 46)
    /// The query type ANY, which asks for all records (RFC 1035 §3.2.3).
    static let any = DNSType(rawValue: 255)

    /// The name of the type, or `TYPEnn`.
    var label: String { Self.labels[rawValue] ?? "TYPE\(rawValue)" }

    private static let labels: [UInt16: String] = [
        1: "A", 2: "NS", 5: "CNAME", 6: "SOA", 12: "PTR", 15: "MX", 16: "TXT", 28: "AAAA", 33: "SRV", 35: "NAPTR",
        39: "DNAME", 43: "DS", 44: "SSHFP", 46: "RRSIG", 47: "NSEC", 48: "DNSKEY", 52: "TLSA", 64: "SVCB", 65: "HTTPS",
        255: "ANY", 257: "CAA",
    ]
    private static let numbers = Dictionary(uniqueKeysWithValues: labels.map { ($1, $0) })

    /// Reads a name, a number or `TYPEnn`.
    init?(label: String) {
        let label = label.uppercased()
        let digits = label.hasPrefix("TYPE") ? String(label.dropFirst(4)) : label
        guard let number = Self.numbers[label] ?? UInt16(digits) else { return nil }
        self.init(rawValue: number)
    }

    /// The response code for questions of a type that no server is asked for; nil for others.
    var fault: DNSResponseCode? {
        switch rawValue {
        case 0, DNSType.opt.rawValue: .formatError
        // Zone transfers and types that only a message has (RFC 6895 §3.1), except ANY.
        case 251, 252: .refused
        case 128...254: .notImplemented
        default: nil
        }
    }
}
