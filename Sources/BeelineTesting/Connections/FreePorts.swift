// SPDX-License-Identifier: Apache-2.0

import Names

/// Finds ports for programs that cannot choose and report a port themselves. The ports are free when this returns.
///
/// - Parameters:
///   - count: The number of ports, all different.
///   - address: A loopback address.
package func freePorts(_ count: Int, at address: String = "127.0.0.1") throws -> [UInt16] {
    let taken = try (0..<count).map { _ in try RefusedEndpoint(address: address) }
    defer { for endpoint in taken { endpoint.close() } }
    return taken.map(\.endpoint.port)
}
