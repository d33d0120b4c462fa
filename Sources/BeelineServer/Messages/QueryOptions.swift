// SPDX-License-Identifier: Apache-2.0

import HTTPDNS
import Names

/// The EDNS options of a query (RFC 6891).
struct QueryOptions: Sendable {
    /// The number of OPT records. A query may have at most one.
    private(set) var count = 0
    private(set) var version: UInt8 = 0
    var isPresent: Bool { count > 0 }
    /// The largest UDP response that the client accepts, in octets.
    private(set) var maxPayload = 512
    /// DO: whether the client wants DNSSEC records (RFC 3225).
    private(set) var wantsSignatures = false
    private(set) var isPadded = false
    private(set) var subnet: IPNetwork?

    init() {}

    /// Adds an OPT record. A query with two of them is refused, so the second one is not read.
    mutating func add(payload: UInt16, flags: UInt32, content: ArraySlice<UInt8>) {
        count += 1
        guard count == 1 else { return }
        version = UInt8(flags >> 16 & 0xff)
        wantsSignatures = flags & 0x8000 != 0
        maxPayload = max(512, Int(payload))
        Self.forEach(in: content) { code, value in
            switch code {
            case 8: subnet = Self.subnet(value)
            case 12: isPadded = true
            default: break
            }
        }
    }

    /// Calls a closure for each option. Stops at a malformed option.
    static func forEach(in octets: ArraySlice<UInt8>, _ body: (_ code: UInt16, _ value: ArraySlice<UInt8>) -> Void) {
        var place = octets.startIndex
        while place + 4 <= octets.endIndex {
            let code = UInt16(octets[place]) << 8 | UInt16(octets[place + 1])
            let end = place + 4 + (Int(octets[place + 2]) << 8 | Int(octets[place + 3]))
            guard end <= octets.endIndex else { return }
            body(code, octets[(place + 4)..<end])
            place = end
        }
    }

    /// Reads a client subnet option (RFC 7871 §6).
    private static func subnet(_ octets: ArraySlice<UInt8>) -> IPNetwork? {
        let start = octets.startIndex
        guard octets.count >= 4, octets[start] == 0, 1...2 ~= octets[start + 1] else { return nil }
        let (size, prefix) = (octets[start + 1] == 1 ? 4 : 16, Int(octets[start + 2]))
        let address = octets.dropFirst(4)
        guard address.count <= size, prefix <= size * 8 else { return nil }
        let full = Array(address) + [UInt8](repeating: 0, count: size - address.count)
        return IPAddress(octets: full).flatMap { IPNetwork($0, prefixLength: prefix) }
    }
}
