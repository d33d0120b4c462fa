// SPDX-License-Identifier: Apache-2.0

package import DirectHTTP
package import HTTPDNS
package import Names

extension Resolver {
    /// Reports the result of one connection attempt, possibly while its dial continues.
    package func learn(from attempt: Attempt, of host: Host) {
        switch attempt.outcome {
        case .connected: report(.connected(after: attempt.connect ?? .zero), at: attempt.endpoint, for: host)
        case .failed: report(.failed, at: attempt.endpoint, for: host)
        case .abandoned: break
        }
    }

    /// Reports a result that only the whole dial shows: an abandoned attempt counts as failed if it was silent for the whole
    /// stagger and another attempt connected. An address that drops packets looks like this.
    package func learn(from attempts: [Attempt], of host: Host, stagger: Duration) {
        guard let won = attempts.first(where: { $0.outcome == .connected }) else { return }
        for attempt in attempts
        where attempt.outcome == .abandoned && attempt.connect == nil && won.start >= attempt.start + stagger {
            report(.failed, at: attempt.endpoint, for: host)
        }
    }
}
