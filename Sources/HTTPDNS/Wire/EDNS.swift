// SPDX-License-Identifier: Apache-2.0

import Names

/// The EDNS options of a query (RFC 6891).
struct EDNS: Hashable, Sendable {
    /// The maximum size of a UDP response, in octets.
    var maxPayload: UInt16 = 1_232
    /// Pads the query to a multiple of this length (RFC 7830, RFC 8467), so that it does not reveal the name's length;
    /// nil: no padding.
    var paddingBlock: Int?
    /// The network to resolve for (RFC 7871).
    var subnet: IPNetwork?
    /// DO: whether the response should have DNSSEC records (RFC 3225).
    var wantsSignatures = false

    private static let subnetOption: UInt16 = 8
    private static let paddingOption: UInt16 = 12

    /// Appends the OPT record to a query that ends with its question.
    func append(to query: inout [UInt8]) {
        query.append(0)
        query.append(big: DNSType.opt.rawValue)
        query.append(big: maxPayload)
        query.append(contentsOf: [0, 0, wantsSignatures ? 0x80 : 0, 0])
        let lengthAt = query.count
        query.append(big: 0)
        if let subnet {
            let octets = subnet.first.octets.prefix((subnet.prefixLength + 7) / 8)
            query.append(big: Self.subnetOption)
            query.append(big: UInt16(4 + octets.count))
            query.append(big: subnet.first.family == .v4 ? 1 : 2)
            query.append(UInt8(subnet.prefixLength))
            query.append(0)
            query.append(contentsOf: octets)
        }
        if let block = paddingBlock, block > 1 {
            // The option's header has 4 octets.
            let padding = (block - (query.count + 4) % block) % block
            query.append(big: Self.paddingOption)
            query.append(big: UInt16(padding))
            query.append(contentsOf: repeatElement(0, count: padding))
        }
        let length = query.count - lengthAt - 2
        query[lengthAt] = UInt8(length >> 8)
        query[lengthAt + 1] = UInt8(truncatingIfNeeded: length)
    }
}

extension DNSMessage {
    /// The octets of a query for one record type.
    ///
    /// - Parameter checks: AD and CD, as in ``Flags/reserved``.
    static func query(_ question: DNSQuestion, id: UInt16 = 0, edns: EDNS? = nil, checks: UInt8 = 0) -> [UInt8] {
        var octets: [UInt8] = []
        octets.reserveCapacity(512)
        octets.append(big: id)
        octets.append(contentsOf: [1, (checks & 3) << 4, 0, 1, 0, 0, 0, 0, 0, edns == nil ? 0 : 1])
        octets.append(contentsOf: question.name.wire)
        octets.append(big: question.type.rawValue)
        octets.append(big: question.recordClass)
        edns?.append(to: &octets)
        return octets
    }
}
