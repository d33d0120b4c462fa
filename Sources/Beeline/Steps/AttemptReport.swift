// SPDX-License-Identifier: Apache-2.0

package import DirectHTTP
package import HTTPDNS
package import Names

extension Resolver {
    /// Tells how a dial's attempts ended.
    ///
    /// An endpoint that was given up counts as failed where it had been silent for the whole stagger while another
    /// connected: that is how an address which drops packets looks from here.
    package func learn(from attempts: [Attempt], of host: Host, stagger: Duration) {
        let won = attempts.first { $0.outcome == .connected }
        for attempt in attempts {
            switch attempt.outcome {
            case .connected:
                report(.connected(after: attempt.connect ?? .zero), at: attempt.endpoint, for: host)
            case .failed:
                report(.failed, at: attempt.endpoint, for: host)
            case .abandoned:
                guard let won, attempt.connect == nil, won.start >= attempt.start + stagger else { continue }
                report(.failed, at: attempt.endpoint, for: host)
            }
        }
    }
}
