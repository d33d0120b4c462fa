// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOSSL
import Names

/// What every endpoint of one dial must lead to.
struct DialTarget: Sendable {
    let key: PoolKey
    /// The context for the origin's TLS; nil for HTTP in the clear.
    let tls: NIOSSLContext?

    /// The name for SNI and the certificate check: nil where the origin is an address, which TLS checks by itself against
    /// the peer's.
    var serverName: String? {
        guard key.origin.host.address == nil else { return nil }
        let name = key.origin.host.text
        return name.hasSuffix(".") ? String(name.dropLast()) : name
    }
}

/// What makes connections interchangeable: the origin, how TLS is done and the way there. Never an address.
struct PoolKey: Hashable, Sendable {
    let origin: Origin
    let tls: TLSSettings
    let route: Route

    /// The origin tells nearly all keys apart; the settings would cost more to hash, roots and all, than they spread.
    func hash(into hasher: inout Hasher) {
        hasher.combine(origin)
    }
}
