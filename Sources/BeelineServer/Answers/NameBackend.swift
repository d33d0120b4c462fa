// SPDX-License-Identifier: Apache-2.0

import HTTPDNS
import Names

/// A resolver, and the forwarder for questions that it cannot answer.
final class NameBackend: Sendable {
    let resolver: Resolver
    let forwarder: MessageForwarder
    /// Whether one of the upstreams is this machine's resolver.
    private let hasSystemUpstream: Bool

    init(_ resolver: Resolver) {
        self.resolver = resolver
        forwarder = MessageForwarder(resolver.configuration) { resolver.network.id }
        hasSystemUpstream = resolver.configuration.upstreams.contains { $0.kind == .system }
    }

    /// Whether upstreams may be asked for messages now.
    var isForwarding: Bool { forwarder.hasUpstreams && resolver.isActive }

    /// Whether this machine's resolver may be asked for names that are not private.
    var mayAskSystem: Bool { hasSystemUpstream || !resolver.isActive }
}

extension Host {
    /// The name with a final dot. With the dot, this machine's resolver looks up this name only. Without it, the
    /// resolver also tries the name in its search domains.
    var absolute: Host {
        guard address == nil, !isLocalhost, !hasTrailingDot else { return self }
        return (try? Host(text + ".")) ?? self
    }
}
