// SPDX-License-Identifier: Apache-2.0

/// Decides which of two equal requests is sent when, and whose answer counts. Pure.
struct HedgePlan {
    enum Event: Hashable {
        case delayPassed
        case answered(Int)
        case failed(Int)
    }

    enum Action: Hashable {
        case wait
        case send(Int)
        /// This one's answer is the result; whatever else is under way is cancelled.
        case take(Int)
    }

    private var pending: Set<Int> = [0]
    private var isHedged = false

    /// A plan whose first request is under way.
    init() {}

    mutating func event(_ event: Event) -> Action {
        switch event {
        case .delayPassed:
            guard !isHedged else { return .wait }
            isHedged = true
            pending.insert(1)
            return .send(1)
        case .answered(let number):
            return .take(number)
        case .failed(let number):
            // A failure is not slowness: before the delay has passed it is the result, and a retry's affair.
            pending.remove(number)
            return pending.isEmpty ? .take(number) : .wait
        }
    }
}
