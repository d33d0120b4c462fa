// SPDX-License-Identifier: Apache-2.0

import DirectHTTP
import NIOCore
import Names

/// Decides which UDP sockets a server needs.
///
/// A reply must come from the address that received the question, and NIO cannot choose the source of a datagram. A
/// server that listens on all addresses therefore has sockets for each address of the machine.
struct DatagramPlan {
    /// The addresses that need a socket. An address appears once for each socket.
    let missing: [SocketAddress]
    /// The addresses that no longer need sockets.
    let unneeded: [SocketAddress]

    /// The maximum number of addresses that get sockets.
    static let maxAddresses = 64

    /// - Parameters:
    ///   - addresses: The addresses to have sockets for.
    ///   - open: The number of open sockets of each address.
    ///   - count: The number of sockets that each address needs.
    init(_ addresses: [SocketAddress], open: [SocketAddress: Int], count: Int) {
        missing = addresses.flatMap { Array(repeating: $0, count: max(0, count - (open[$0] ?? 0))) }
        unneeded = open.keys.filter { !addresses.contains($0) }
    }

    /// The addresses that need sockets: `listen`, or all addresses of the machine if that is 0.0.0.0 or `::`.
    static func addresses(listening listen: SocketAddress, interfaces: [SocketAddress]) -> [SocketAddress] {
        guard Endpoint(listen)?.address.isUnspecified ?? false else { return [listen] }
        var addresses: [SocketAddress] = []
        for var address in interfaces {
            switch (listen, address) {
            // A socket for `::` receives both families.
            case (.v4, .v4), (.v6, .v4), (.v6, .v6): break
            default: continue
            }
            address.port = listen.port
            if !addresses.contains(address) { addresses.append(address) }
        }
        return addresses.isEmpty ? [listen] : addresses
    }
}
