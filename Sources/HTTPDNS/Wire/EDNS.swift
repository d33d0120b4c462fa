// SPDX-License-Identifier: Apache-2.0

package import Names

/// The OPT record of a query or a response (RFC 6891).
package struct EDNS: Hashable, Sendable {
    /// An option that has no field of its own.
    package struct Option: Hashable, Sendable {
        let code: UInt16
        let value: [UInt8]

        package init(_ code: UInt16, _ value: [UInt8]) { (self.code, self.value) = (code, value) }
    }

    /// The maximum size of a UDP message that the sender accepts, in octets.
    package var maxPayload: UInt16 = 1_232
    /// Pads the message to a multiple of this length (RFC 7830, RFC 8467), so that it does not reveal the length of the
    /// name; nil: no padding.
    package var paddingBlock: Int?
    /// The network to resolve for (RFC 7871).
    package var subnet: IPNetwork?
    /// DO: whether the sender of a query wants DNSSEC records; a response repeats it (RFC 3225).
    package var wantsSignatures = false
    /// The prefix length of the networks for which a response is valid. Zero in queries.
    package var scope: UInt8 = 0
    /// The high bits of the response code.
    package var highCode: UInt8 = 0
    /// Further options, which follow the subnet.
    package var options: [Option] = []
    /// The maximum size of the padded message, in octets. A message that fits is not padded beyond it.
    package var maxSize = DNSMessage.maxOctets

    private static let subnetOption: UInt16 = 8
    private static let paddingOption: UInt16 = 12

    /// Appends the OPT record, as the last record of a message. The caller counts it in the message's header.
    package func append(to message: inout [UInt8]) {
        message.append(0)
        message.append(big: DNSType.opt.rawValue)
        message.append(big: maxPayload)
        message.append(contentsOf: [highCode, 0, wantsSignatures ? 0x80 : 0, 0])
        let lengthAt = message.count
        message.append(big: 0)
        if let subnet {
            let octets = subnet.first.octets.prefix((subnet.prefixLength + 7) / 8)
            message.append(big: Self.subnetOption)
            message.append(big: UInt16(4 + octets.count))
            message.append(big: subnet.first.family == .v4 ? 1 : 2)
            message.append(UInt8(subnet.prefixLength))
            message.append(scope)
            message.append(contentsOf: octets)
        }
        for option in options {
            message.append(big: option.code)
            message.append(big: UInt16(option.value.count))
            message.append(contentsOf: option.value)
        }
        // The option's header has 4 octets.
        if let block = paddingBlock, block > 1, message.count + 4 <= maxSize {
            let padding = min((block - (message.count + 4) % block) % block, maxSize - message.count - 4)
            message.append(big: Self.paddingOption)
            message.append(big: UInt16(padding))
            message.append(contentsOf: repeatElement(0, count: padding))
        }
        let length = message.count - lengthAt - 2
        message[lengthAt] = UInt8(length >> 8)
        message[lengthAt + 1] = UInt8(truncatingIfNeeded: length)
    }
}

extension EDNS {
    /// An OPT record without options.
    package init(maxPayload: UInt16) {
        self.init()
        self.maxPayload = maxPayload
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
