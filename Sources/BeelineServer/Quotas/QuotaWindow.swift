// SPDX-License-Identifier: Apache-2.0

/// The questions of one account in the present second or day.
///
/// Questions are reserved in the store by blocks of a fiftieth of the limit, so that a question rarely waits for it. The servers
/// together never exceed the limit, and each leaves at most a block unused.
struct QuotaWindow {
    /// What to do with questions.
    enum Step: Equatable {
        case allowed
        case refused
        /// Add the amount to the counter of the window that started then, and report the result.
        case reserve(Int, start: Int64)
    }

    let limit: Int
    /// The length of a window, in seconds.
    let length: Int64
    private var start = Int64.min
    /// The time of the last questions.
    private var last = Int64.min
    /// Reserved questions that were not asked yet.
    private var left = 0
    /// All reserved questions of this server in this window.
    private var reserved = 0
    private var isSpent = false
    /// Whether a block is being reserved. Meanwhile, questions reserve only themselves, or parallel ones would reserve
    /// a block each.
    private var isReserving = false

    init(limit: Int, length: Int64) {
        self.limit = limit
        self.length = length
    }

    /// How far a clock is set back if it was right before, in seconds.
    private static let maxStepBack: Int64 = 3_600

    private var block: Int { max(1, limit / 50) }

    /// Takes questions from those that are reserved.
    ///
    /// - Parameter now: Seconds since 1970.
    mutating func take(_ questions: Int, now: Int64) -> Step {
        let current = now - now % length
        // A clock that was set back a little must not give the questions of this window again. After a longer step the
        // clock was wrong before, and this window could last for any time.
        let isSetBack = current < start && start - current <= length && last - now <= Self.maxStepBack
        last = now
        if current != start, !isSetBack {
            (start, left, reserved) = (current, 0, 0)
            (isSpent, isReserving) = (false, false)
        }
        if left >= questions {
            left -= questions
            return .allowed
        }
        if isSpent { return .refused }
        defer { isReserving = true }
        return .reserve(isReserving ? questions : max(block, questions), start: start)
    }

    /// Adds the result of a reservation.
    ///
    /// - Parameter total: The counter's new value. Nil if the store is away: the server then counts alone.
    mutating func reserved(_ amount: Int, start: Int64, total: Int?) {
        guard start == self.start else { return }
        if amount >= block { isReserving = false }
        // Other servers may have taken a part of the amount.
        // A total below the amount is not a sum of reservations: another program has set the counter.
        let before = total.flatMap { $0 >= amount ? $0 - amount : nil } ?? reserved
        let granted = max(0, min(amount, limit - before))
        left += granted
        reserved += granted
        if granted < amount { isSpent = true }
    }
}
