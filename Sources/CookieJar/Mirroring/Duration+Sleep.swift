// SPDX-License-Identifier: Apache-2.0

extension Duration {
    /// The duration, clamped to between zero and a century for waits. `ContinuousClock` traps if the end of a wait exceeds 64
    /// bits of seconds, as with `.seconds(.max)`, which programs use for "never".
    package var asWait: Duration { min(max(self, .zero), .seconds(3_155_760_000)) }
}
