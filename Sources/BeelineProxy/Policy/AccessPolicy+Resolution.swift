// SPDX-License-Identifier: Apache-2.0

import Beeline
import HTTPDNS
import Names

extension AccessPolicy.Source {
    /// How a resolver came to know where a host is; nil: the host is pinned.
    init(_ resolution: Resolution?, by resolver: Resolver) {
        switch resolution?.source {
        case nil, .fixed: self = .trusted
        case .literal: self = .literal
        case .fresh, .cached, .stale, .system:
            let isOurs = resolution.map { resolver.configuration.denied.contains($0.host) } ?? false
            self = isOurs ? .trusted : .answer
        }
    }
}
