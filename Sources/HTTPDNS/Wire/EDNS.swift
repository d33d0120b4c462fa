// SPDX-License-Identifier: Apache-2.0

import Names

/// What a query says besides its question (RFC 6891).
struct EDNS: Hashable, Sendable {
    /// The largest UDP message that we take, in octets.
    var maxPayload: UInt16 = 1_232
    /// The query's length becomes a multiple of this (RFC 7830, RFC 8467), so that it does not tell the name's; nil:
    /// it is not padded.
    var paddingBlock: Int?
    /// For whose network the answer is wanted (RFC 7871).
    var subnet: IPNetwork?

    private static let subnetOption: UInt16 = 8
    private static let paddingOption: UInt16 = 12

    /// The OPT record, for a query that has `length` octets without it.
    func record(behind length: Int) -> [UInt8] {
        var options: [UInt8] = []
        if let subnet {
            let octets = subnet.first.octets.prefix((subnet.prefixLength + 7) / 8)
            options += Self.big(Self.subnetOption) + Self.big(UInt16(4 + octets.count))
            options += Self.big(subnet.first.family == .v4 ? 1 : 2) + [UInt8(subnet.prefixLength), 0] + octets
        }
        if let block = paddingBlock, block > 1 {
            // Root, type, class, TTL and length are 11 octets; the option's own head 4.
            let bare = length + 11 + options.count + 4
            let padding = (block - bare % block) % block
            options += Self.big(Self.paddingOption) + Self.big(UInt16(padding))
            options += [UInt8](repeating: 0, count: padding)
        }
        return [0] + Self.big(DNSType.opt.rawValue) + Self.big(maxPayload) + [0, 0, 0, 0]
            + Self.big(UInt16(options.count)) + options
    }

    private static func big(_ value: UInt16) -> [UInt8] {
        [UInt8(value >> 8), UInt8(truncatingIfNeeded: value)]
    }
}

extension DNSMessage {
    /// The octets of a query for one record type.
    static func query(_ question: DNSQuestion, id: UInt16 = 0, edns: EDNS? = nil) -> [UInt8] {
        var octets: [UInt8] = [
            UInt8(id >> 8), UInt8(truncatingIfNeeded: id), 1, 0, 0, 1, 0, 0, 0, 0, 0, edns == nil ? 0 : 1,
        ]
        octets += question.name.wire
        for field in [question.type.rawValue, question.recordClass] {
            octets.append(UInt8(field >> 8))
            octets.append(UInt8(truncatingIfNeeded: field))
        }
        if let edns { octets += edns.record(behind: octets.count) }
        return octets
    }
}
