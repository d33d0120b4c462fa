// SPDX-License-Identifier: Apache-2.0

package import DirectHTTP
package import HTTPDNS
package import Names

extension Resolver {
    /// Tells how one attempt ended, while its dial may still go on.
    package func learn(from attempt: Attempt, of host: Host) {
        switch attempt.outcome {
        case .connected: report(.connected(after: attempt.connect ?? .zero), at: attempt.endpoint, for: host)
        case .failed: report(.failed, at: attempt.endpoint, for: host)
        case .abandoned: break
        }
    }

    /// Tells what only the whole dial shows: an endpoint that was given up counts as failed where it had been silent for the
    /// whole stagger while another connected. That is how an address which drops packets looks from here.
    package func learn(from attempts: [Attempt], of host: Host, stagger: Duration) {
        guard let won = attempts.first(where: { $0.outcome == .connected }) else { return }
        for attempt in attempts
        where attempt.outcome == .abandoned && attempt.connect == nil && won.start >= attempt.start + stagger {
            report(.failed, at: attempt.endpoint, for: host)
        }
    }
}
