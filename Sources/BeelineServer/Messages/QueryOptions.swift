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

    /// The OPT record of a reply.
    struct Reply {
        var code = DNSResponseCode.noError
        var errors: [ExtendedError] = []
        /// The largest UDP query that the server accepts, in octets.
        var payload: UInt16
        /// Pads the reply to a multiple of this length (RFC 8467); nil: no padding.
        var paddingBlock: Int?
        /// The maximum size of the padded reply, in octets. A reply that fits is not padded beyond it.
        var maxSize = DNSMessage.maxOctets
        /// Whether the answer is valid for the query's subnet only.
        var usesSubnet: Bool
    }

    /// Appends the OPT record of a reply (RFC 6891 §6.1.2), with the high bits of the response code.
    func append(_ reply: Reply, to octets: inout [UInt8]) {
        octets += [0, 0, 41, UInt8(reply.payload >> 8), UInt8(reply.payload & 0xff)]
        octets += [reply.code.rawValue >> 4, 0, wantsSignatures ? 0x80 : 0, 0]
        let lengthAt = octets.count
        octets += [0, 0]
        if let subnet {
            let address = subnet.first.octets.prefix((subnet.prefixLength + 7) / 8)
            let prefix = UInt8(subnet.prefixLength)
            Self.append(8, length: 4 + address.count, to: &octets)
            octets += [0, subnet.first.family == .v4 ? 1 : 2, prefix, reply.usesSubnet ? prefix : 0]
            octets += address
        }
        for error in reply.errors {
            Self.append(ExtendedError.option, length: 2 + error.text.count, to: &octets)
            octets += [UInt8(error.code >> 8), UInt8(error.code & 0xff)]
            octets += error.text
        }
        if isPadded, let block = reply.paddingBlock, octets.count + 4 <= reply.maxSize {
            let padding = min((block - (octets.count + 4) % block) % block, reply.maxSize - octets.count - 4)
            Self.append(12, length: padding, to: &octets)
            octets += repeatElement(0, count: padding)
        }
        let length = octets.count - lengthAt - 2
        octets[lengthAt] = UInt8(length >> 8 & 0xff)
        octets[lengthAt + 1] = UInt8(length & 0xff)
    }

    private static func append(_ code: UInt16, length: Int, to octets: inout [UInt8]) {
        octets += [UInt8(code >> 8), UInt8(code & 0xff), UInt8(length >> 8 & 0xff), UInt8(length & 0xff)]
    }
}
