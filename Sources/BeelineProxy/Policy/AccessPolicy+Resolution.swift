// SPDX-License-Identifier: Apache-2.0

import Beeline
import HTTPDNS
import Names

extension AccessPolicy.Source {
    /// The source of a host's addresses; a nil resolution means that the host is pinned.
    init(_ resolution: Resolution?, by resolver: Resolver) {
        guard let resolution, !resolution.isOfTable else {
            self = .trusted
            return
        }
        if resolution.source == .literal {
            self = .literal
        } else {
            self = resolver.configuration.names.denied.contains(resolution.host) ? .trusted : .answer
        }
    }
}
