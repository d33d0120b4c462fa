// SPDX-License-Identifier: Apache-2.0

import BeelineProxy

extension BeelineProxy {
    /// The hosts that sessions reach without the proxy.
    static let localHosts = ["localhost", "127.0.0.1", "::1"]
}
