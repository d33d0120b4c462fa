// SPDX-License-Identifier: Apache-2.0

import LibC

/// The limit on open file descriptors of the process.
package enum DescriptorLimit {
    #if canImport(Glibc)
    private static let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    #else
    private static let resource = RLIMIT_NOFILE
    #endif

    /// The current limit; nil if it cannot be read.
    package static var current: Int? { limits.map { Int(clamping: $0.rlim_cur) } }

    /// How many descriptors of a limit are kept for upstreams, files and the rest of the process. At least 48: a server has
    /// about 25 open without any connection. Without a free descriptor, listeners would try to accept connections over and
    /// over, and use a whole core.
    package static func reserve(of limit: Int) -> Int { min(512, max(48, limit / 4)) }

    /// Raises the limit as far as an unprivileged process may. A connection takes one descriptor, a tunnel two.
    package static func raise() {
        guard var limit = limits else { return }
        #if canImport(Darwin)
        limit.rlim_cur = min(limit.rlim_max, rlim_t(OPEN_MAX))
        #else
        limit.rlim_cur = limit.rlim_max
        #endif
        _ = setrlimit(resource, &limit)
    }

    private static var limits: rlimit? {
        var limit = rlimit()
        return getrlimit(resource, &limit) == 0 ? limit : nil
    }
}
