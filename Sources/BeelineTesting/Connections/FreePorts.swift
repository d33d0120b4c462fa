// SPDX-License-Identifier: Apache-2.0

import LibC
import NIOConcurrencyHelpers
import Names

/// Finds ports of 127.0.0.1 for programs that cannot choose and report a port themselves. The ports are free when this returns.
///
/// They are below the range from which the system gives ports to outgoing connections and to listeners of port 0 (on Linux
/// from 32768), so that only another program with a fixed port can take one. For a port that must stay closed, use
/// ``RefusedEndpoint``, which holds it.
///
/// - Parameter count: The number of ports, all different.
/// - Throws: ``TestingError`` with code `noPort`.
package func freePorts(_ count: Int) throws -> [UInt16] {
    var taken: [RefusedEndpoint] = []
    defer { for endpoint in taken { endpoint.close() } }
    for _ in 0..<portCount where taken.count < count {
        let port = nextPort.withLockedValue { next in
            next = (next + 1) % portCount
            return UInt16(firstPort + next)
        }
        if let endpoint = try? RefusedEndpoint(port: port) { taken.append(endpoint) }
    }
    guard taken.count == count else { throw TestingError(.noPort, "127.0.0.1 has no \(count) free ports") }
    return taken.map(\.endpoint.port)
}

private let firstPort = 20_000
private let portCount = 12_000
/// Where the search goes on. Test processes that run at the same time begin far from each other.
private let nextPort = NIOLockedValueBox(Int(getpid()) * 1_009 % portCount)
