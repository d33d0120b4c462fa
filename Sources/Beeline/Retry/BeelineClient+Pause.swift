// SPDX-License-Identifier: Apache-2.0

import DirectHTTP
import HTTPDNS
import Names

extension BeelineClient {
    /// Waits before the next request of a call. Ends early when the client is shut down.
    ///
    /// - Throws: ``BeelineError`` with code `cancelled` or `shutDown`.
    func pause(_ wait: Duration, before url: HTTPURL) async throws(BeelineError) {
        let isShutDown = await firstResult(within: wait, sleep: { try await self.clock.sleep($0) }) {
            await self.resolver.closed()
            return true
        }
        // Cancellation also ends the wait for the resolver.
        if Task.isCancelled { throw BeelineError(.cancelled, "the request to \(url.origin) was cancelled") }
        if isShutDown == true {
            throw BeelineError(.shutDown, "the client was shut down before the next request to \(url.origin)")
        }
    }
}
