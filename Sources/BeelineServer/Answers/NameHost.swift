// SPDX-License-Identifier: Apache-2.0

import HTTPDNS
import Names

/// The host that rules and policies see for a name.
///
/// A name may have octets that a host cannot have, such as `my printer.lan` or a label in Latin-1. It is treated as a
/// name below its longest ancestor that is a host, here as `_.lan`, and belongs to the same domains as that.
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
            // An address is not a domain, so skip it: `_.2` is not looked up.
            if rest.count > 1, Self.host(rest) == nil { continue }
            guard let host = Self.host((zone + rest)[...]) else { continue }
            self.host = host
            return
        }
        return nil
    }

    /// The host with the labels of a name; nil for other octets and for addresses.
    private static func host(_ wire: ArraySlice<UInt8>) -> Host? {
        // `Host` decodes percent signs, which would change the name.
        guard !wire.contains(UInt8(ascii: "%")) else { return nil }
        let text = DNSName(wire: Array(wire)).description
        guard let host = try? Host(text), host.address == nil else { return nil }
        return host
    }
}

extension DNSName {
    /// The name that a text asks for: the ASCII form of a host, or any other valid name unchanged.
    init?(asked text: String) {
        if let host = try? Host(text), host.address == nil {
            self.init(host.text)
        } else if text.isEmpty {
            return nil
        } else {
            self.init(text)
        }
    }
}
