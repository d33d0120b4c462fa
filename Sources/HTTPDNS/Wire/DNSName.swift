// SPDX-License-Identifier: Apache-2.0

import Names

/// A domain name in wire format (RFC 1035 §3.1): uncompressed labels with their lengths, ending with the empty label.
///
/// Letters keep their case, so that a response can repeat it. Names are compared without regard to case (RFC 4343).
package struct DNSName: Sendable, CustomStringConvertible {
    /// The octets of the name, at most 255, the last one zero.
    package let wire: [UInt8]

    /// The maximum length of a name, with its length octets and the final zero (RFC 1035 §2.3.4).
    package static let maxOctets = 255

    /// The root.
    package static let root = DNSName(wire: [0])

    /// A name from valid octets.
    package init(wire: [UInt8]) {
        self.wire = wire
    }

    /// Parses `www.example.com` or `www.example.com.`; nil if a label is empty or longer than 63 octets, or the name is
    /// longer than 255.
    package init?(_ text: String) {
        if text == "." {
            self = .root
            return
        }
        guard text.utf8.count <= Self.maxOctets else { return nil }
        // Copies the text with an offset of one: each label's length replaces the dot before the label.
        var wire: [UInt8] = []
        wire.reserveCapacity(text.utf8.count + 2)
        wire.append(UInt8(ascii: "."))
        wire.append(contentsOf: text.utf8)
        // The final dot has no octet in wire format.
        if wire.count > 1, wire.last == UInt8(ascii: ".") { wire.removeLast() }
        wire.append(UInt8(ascii: "."))
        guard wire.count <= Self.maxOctets else { return nil }
        var lengthAt = 0
        for place in 1..<wire.count where wire[place] == UInt8(ascii: ".") {
            let length = place - lengthAt - 1
            guard 1...63 ~= length else { return nil }
            wire[lengthAt] = UInt8(length)
            lengthAt = place
        }
        wire[lengthAt] = 0
        self.wire = wire
    }

    /// Parses a name as zone files have it, with the escapes `\X` and `\DDD` (RFC 1035 §5.1); nil as for ``init(_:)``, and if
    /// an escape is incomplete.
    init?(escaped text: String) {
        guard text.utf8.contains(UInt8(ascii: "\\")) else {
            self.init(text)
            return
        }
        var labels: [[UInt8]] = []
        var label: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let octet = rest.popFirst() {
            switch octet {
            case UInt8(ascii: "."):
                labels.append(label)
                label = []
            case UInt8(ascii: "\\"):
                guard let octet = MasterText.takeEscaped(from: &rest) else { return nil }
                label.append(octet)
            default: label.append(octet)
            }
        }
        // The final dot has no label.
        if !label.isEmpty { labels.append(label) }
        guard labels.allSatisfy({ 1...63 ~= $0.count }) else { return nil }
        var wire: [UInt8] = []
        for label in labels {
            wire.append(UInt8(label.count))
            wire += label
        }
        wire.append(0)
        guard wire.count <= Self.maxOctets else { return nil }
        self.init(wire: wire)
    }

    /// Takes an uncompressed name from the start of octets; nil if there is none.
    package init?(takenFrom octets: inout ArraySlice<UInt8>) {
        var index = octets.startIndex
        while index < octets.endIndex, octets[index] != 0 {
            guard octets[index] < 64 else { return nil }
            index += 1 + Int(octets[index])
        }
        guard index < octets.endIndex, index - octets.startIndex < Self.maxOctets else { return nil }
        self.init(wire: Array(octets[...index]))
        octets = octets[(index + 1)...]
    }

    /// The labels, without their lengths and without the root's.
    package var labels: [ArraySlice<UInt8>] {
        var labels: [ArraySlice<UInt8>] = []
        var index = 0
        while index < wire.count, wire[index] != 0 {
            let end = index + 1 + Int(wire[index])
            labels.append(wire[(index + 1)..<end])
            index = end
        }
        return labels
    }

    /// Whether the name is `ancestor` or a subdomain of it.
    package func isAtOrBelow(_ ancestor: DNSName) -> Bool {
        var start = 0
        while wire.count - start > ancestor.wire.count { start += 1 + Int(wire[start]) }
        return wire.count - start == ancestor.wire.count && Self.equal(wire[start...], ancestor.wire[...])
    }

    /// The name without the final dot; `.` for the root. Octets that are not printable are written `\DDD`, and a dot or
    /// backslash in a label `\X`. The others are written as they are, because a host may have them.
    package var description: String { text(isPlain: Self.isPlain) }

    /// The name with the final dot, as zone files have it (RFC 1035 §5.1); `.` for the root. Octets that mean something
    /// there are written `\X` too.
    package var absoluteText: String { wire.count == 1 ? "." : text(isPlain: MasterText.isPlainInLabel) + "." }

    /// Whether ``description`` has this octet of a label without a backslash.
    static func isPlain(_ octet: UInt8) -> Bool {
        (0x21...0x7e).contains(octet) && octet != UInt8(ascii: ".") && octet != UInt8(ascii: "\\")
    }

    private func text(isPlain: (UInt8) -> Bool) -> String {
        if let text = plainText(isPlain) { return text }
        return labels.map { label -> String in
            label.map { MasterText.escaped($0, isPlain: isPlain($0)) }.joined()
        }.joined(separator: ".")
    }

    /// The text of a name that needs no escapes, which is the common case; nil for others.
    private func plainText(_ isPlain: (UInt8) -> Bool) -> String? {
        guard wire.count > 1 else { return "." }
        var octets = wire[1..<(wire.count - 1)]
        var next = 1 + Int(wire[0])
        for index in octets.indices {
            if index == next {
                next += 1 + Int(wire[index])
                octets[index] = UInt8(ascii: ".")
            } else {
                guard isPlain(wire[index]) else { return nil }
            }
        }
        return String(decoding: octets, as: UTF8.self)
    }

    /// The ASCII lower case. Lengths are at most 63 and so never letters: whole names can be mapped.
    private static func lower(_ octet: UInt8) -> UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(octet) ? octet | 0x20 : octet
    }

    private static func equal(_ one: ArraySlice<UInt8>, _ other: ArraySlice<UInt8>) -> Bool {
        one.count == other.count && zip(one, other).allSatisfy { $0 == $1 || lower($0) == lower($1) }
    }
}

extension DNSName: Hashable {
    package static func == (one: DNSName, other: DNSName) -> Bool {
        // Fast path: the octets are usually identical.
        one.wire == other.wire || equal(one.wire[...], other.wire[...])
    }

    package func hash(into hasher: inout Hasher) {
        for octet in wire { hasher.combine(Self.lower(octet)) }
    }
}
