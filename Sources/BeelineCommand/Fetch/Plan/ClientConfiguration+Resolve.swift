// SPDX-License-Identifier: Apache-2.0

import Beeline

extension ClientConfiguration {
    /// Applies a value of `--resolve`: `[+]HOST:PORT:ADDR[,ADDR]` or `-HOST:PORT`, with IPv6 addresses in brackets. The
    /// host `*` stands for every host without its own entry. Entries last as long as the command, even those with `+`.
    mutating func pin(_ text: String, _ families: Families) throws(CommandFailure) {
        let malformed = CommandFailure(.malformedOption, "--resolve \"\(text)\": write HOST:PORT:ADDR[,ADDR]")
        let removes = text.hasPrefix("-")
        let rest = removes || text.hasPrefix("+") ? text.dropFirst() : text[...]
        guard let hostEnd = rest.endOfHost, hostEnd < rest.endIndex, rest[hostEnd] == ":" else { throw malformed }
        let name = rest[..<hostEnd]
        let host = name == "*" ? nil : try? Host(name)
        guard name == "*" || host != nil else { throw malformed }
        let parts = rest[rest.index(after: hostEnd)...].split(separator: ":", maxSplits: 1)
        guard parts.count == (removes ? 1 : 2), let port = UInt16(parts[0]), port > 0 else { throw malformed }
        let addresses =
            removes
            ? nil
            : try Self.addresses(parts[1], malformed)
                .filter { families.contains(Families($0.family)) }
        guard addresses?.isEmpty != true else {
            throw CommandFailure(.hostUnresolved, "--resolve \"\(text)\" has no \(families) address for \(name)")
        }
        if let host { pinned[Pin(host, port: port)] = addresses } else { pinnedPorts[port] = addresses }
    }

    private static func addresses(
        _ list: Substring,
        _ malformed: CommandFailure
    ) throws(CommandFailure) -> [IPAddress] {
        try list.split(separator: ",", omittingEmptySubsequences: false).map { item throws(CommandFailure) in
            let bare = item.hasPrefix("[") && item.hasSuffix("]") ? item.dropFirst().dropLast() : item
            guard let address = IPAddress(String(bare)) else { throw malformed }
            return address
        }
    }
}

extension Substring {
    /// The end of a host that a port follows; nil if there is none. An IPv6 address is in brackets.
    var endOfHost: Index? { hasPrefix("[") ? firstIndex(of: "]").map(index(after:)) : firstIndex(of: ":") }
}
