// SPDX-License-Identifier: Apache-2.0

extension Duration {
    /// The duration as a clock can wait for it, from none up to a century: `ContinuousClock` traps where the end of a wait is more
    /// than 64 bits of seconds, as with `.seconds(.max)`, which programs write for "never".
    package var asWait: Duration { min(max(self, .zero), .seconds(3_155_760_000)) }
}
