// SPDX-License-Identifier: Apache-2.0

import HTTPDNS
import Names

/// The host that rules and policies see for a name.
///
/// A name may have octets that no host has: `my printer.lan`, or a label in Latin-1. It belongs to the same domains as other names
/// below its longest ancestor that is a host, and is treated as a name below that one: here as `_.lan`.
struct NameHost: Sendable {
    let host: Host
    /// Whether the host is the name itself.
    let isName: Bool

    init?(_ name: DNSName) {
        if let host = Self.host(name.wire[...]) {
            self.host = host
            isName = true
            return
        }
        isName = false
        let zone = [1, UInt8(ascii: "_")] as [UInt8]
        var rest = name.wire[...]
        while let length = rest.first, length > 0 {
            rest = rest.dropFirst(1 + Int(length))
            // An address is no domain, so `_.2` is looked up without it.
            if rest.count > 1, Self.host(rest) == nil { continue }
            guard let host = Self.host((zone + rest)[...]) else { continue }
            self.host = host
            return
        }
        return nil
    }

    /// The host with the labels of a name; nil for other octets and for addresses.
    private static func host(_ wire: ArraySlice<UInt8>) -> Host? {
        // `Host` decodes percent signs, which makes another name of it.
        guard !wire.contains(UInt8(ascii: "%")) else { return nil }
        let text = DNSName(wire: Array(wire)).description
        guard let host = try? Host(text), host.address == nil else { return nil }
        return host
    }
}
