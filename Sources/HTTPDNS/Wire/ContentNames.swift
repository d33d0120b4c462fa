// SPDX-License-Identifier: Apache-2.0

/// The places of names in the content of a record that a sender may compress (RFC 1035 §4.1.4, RFC 3597 §4).
struct ContentNames {
    /// The number of octets before the strings and names.
    let prefix: Int
    /// The number of character strings between the prefix and the names.
    var strings = 0
    /// The number of names at the end.
    var names = 1

    /// The layout of a type; nil for types without compressed names. CNAME and SOA are separate cases in ``DNSRecord``.
    init?(_ type: DNSType) {
        switch type.rawValue {
        // NS, MD, MF, MB, MG, MR, PTR, DNAME.
        case 2, 3, 4, 7, 8, 9, 12, 39: prefix = 0
        // MX, AFSDB, RT, KX.
        case 15, 18, 21, 36: prefix = 2
        // SRV.
        case 33: prefix = 6
        // MINFO, RP.
        case 14, 17: (prefix, names) = (0, 2)
        // PX.
        case 26: (prefix, names) = (2, 2)
        // NAPTR.
        case 35: (prefix, strings) = (4, 3)
        default: return nil
        }
    }
}
