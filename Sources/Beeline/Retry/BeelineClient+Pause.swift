// SPDX-License-Identifier: Apache-2.0

import DirectHTTP
import HTTPDNS
import Names

extension BeelineClient {
    /// Waits before the next request of a call. Ends early when the client is shut down.
    ///
    /// - Throws: ``BeelineError`` with code `cancelled` or `shutDown`.
    func pause(_ wait: Duration, before url: HTTPURL) async throws(BeelineError) {
        let isShutDown = await withTaskGroup(of: Bool.self) { group in
            group.addTask {
                try? await self.clock.sleep(wait)
                return false
            }
            group.addTask {
                await self.resolver.closed()
                return true
            }
            defer { group.cancelAll() }
            return await group.next() ?? false
        }
        // Cancellation ends both tasks.
        if Task.isCancelled { throw BeelineError(.cancelled, "the request to \(url.origin) was cancelled") }
        if isShutDown {
            throw BeelineError(.shutDown, "the client was shut down before the next request to \(url.origin)")
        }
    }
}
