// SPDX-License-Identifier: Apache-2.0

import NIOCore

/// A document in UTF-16 with a byte order mark, as XML allows (XML 1.0 §4.3.3).
struct UTF16Text {
    /// The text without the byte order mark.
    let text: String
    private let isBigEndian: Bool

    /// Nil if there is no byte order mark or the bytes are not valid UTF-16.
    init?(_ octets: ByteBufferView) {
        guard octets.count.isMultiple(of: 2) else { return nil }
        switch octets.prefix(2).map({ $0 }) {
        case [0xfe, 0xff]: isBigEndian = true
        case [0xff, 0xfe]: isBigEndian = false
        default: return nil
        }
        let (high, low) = isBigEndian ? (0, 1) : (1, 0)
        let units = stride(from: octets.startIndex + 2, to: octets.endIndex, by: 2).map { index in
            UInt16(octets[index + high]) << 8 | UInt16(octets[index + low])
        }
        text = String(decoding: units, as: UTF16.self)
        // Decoding would change malformed text.
        guard text.utf16.elementsEqual(units) else { return nil }
    }

    /// Encodes another text in the same byte order, with a byte order mark.
    func octets(of text: String) -> [UInt8] {
        var octets: [UInt8] = []
        octets.reserveCapacity(text.utf8.count * 2 + 2)
        for unit in CollectionOfOne(UInt16(0xfeff)) + Array(text.utf16) {
            let (high, low) = (UInt8(unit >> 8), UInt8(unit & 0xff))
            octets += isBigEndian ? [high, low] : [low, high]
        }
        return octets
    }
}
