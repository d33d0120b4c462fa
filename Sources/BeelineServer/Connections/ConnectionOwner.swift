// SPDX-License-Identifier: Apache-2.0

import Names

/// The client that a connection counts for. Confined to the connection's event loop.
final class ConnectionOwner {
    /// Nil for a proxy, whose connections carry many clients, and until its header has arrived.
    var client: IPAddress?

    init(_ client: IPAddress?) { self.client = client }
}
