// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Names

/// Who is at the two ends of a connection.
struct ConnectionEnds: Sendable {
    let client: IPAddress
    /// The endpoint of ours that the client came to.
    let local: Endpoint?

    init(_ channel: any Channel) {
        client = (channel.remoteAddress?.ipAddress.flatMap { IPAddress($0) } ?? IPAddress(v4: 0)).unmapped
        let address = channel.localAddress?.ipAddress.flatMap { IPAddress($0) }?.unmapped
        let port = channel.localAddress?.port.flatMap { UInt16(exactly: $0) }
        local = address.flatMap { address in port.map { Endpoint(address, port: $0) } }
    }
}
