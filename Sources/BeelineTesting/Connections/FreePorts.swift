// SPDX-License-Identifier: Apache-2.0

import Names

/// Ports for programs that cannot be told to pick one and say which: nobody has them when this returns.
///
/// - Parameters:
///   - count: how many, all different.
///   - address: a loopback address.
package func freePorts(_ count: Int, at address: String = "127.0.0.1") throws -> [UInt16] {
    let taken = try (0..<count).map { _ in try RefusedEndpoint(address: address) }
    defer { for endpoint in taken { endpoint.close() } }
    return taken.map(\.endpoint.port)
}
