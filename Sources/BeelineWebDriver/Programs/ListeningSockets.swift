// SPDX-License-Identifier: Apache-2.0

import LibC
import Names

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The listening TCP sockets of this machine, from Linux's `/proc/net/tcp`.
struct ListeningSockets {
    /// The users that own the listening sockets of a port.
    private(set) var owners: [UInt16: Set<UInt32>] = [:]

    /// Whether this user owns all listening sockets of a port, of which there is at least one. Nil if the system does not
    /// report owners.
    static func isOwn(port: UInt16) -> Bool? {
        // A table may lack a socket if others are opened or closed while it is read.
        for _ in 0..<3 {
            let tables = ["/proc/net/tcp", "/proc/net/tcp6"].compactMap { path in
                try? String(contentsOf: URL(filePath: path), encoding: .utf8)
            }
            guard !tables.isEmpty else { return nil }
            if let owners = ListeningSockets(tables).owners[port] { return owners == [geteuid()] }
        }
        return false
    }

    /// - Parameter tables: The texts of `/proc/net/tcp` and `/proc/net/tcp6`.
    init(_ tables: [String]) {
        for line in tables.flatMap({ $0.split(whereSeparator: \.isNewline) }) {
            // The number, the local and the remote address, the state, two pairs of numbers, a number, and the user's id.
            let words = line.split(separator: " ")
            guard words.count > 7, words[3] == "0A", let colon = words[1].lastIndex(of: ":"),
                let port = UInt16(words[1][colon...].dropFirst(), radix: 16), let user = UInt32(words[7])
            else { continue }
            owners[port, default: []].insert(user)
        }
    }
}
