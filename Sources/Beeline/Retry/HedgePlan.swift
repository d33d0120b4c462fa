// SPDX-License-Identifier: Apache-2.0

/// Decides when to send the second of two equal requests, and which result counts. A pure state machine.
struct HedgePlan {
    enum Event: Hashable {
        case delayPassed
        case answered(Int)
        case failed(Int)
    }

    enum Action: Hashable {
        case wait
        case send(Int)
        /// The result of this request counts; cancel the other.
        case take(Int)
    }

    private var pending: Set<Int> = [0]
    private var isHedged = false

    /// Creates a plan. Its first request is already running.
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
            // A failure is not slowness: without a second request it is the result, and the retry policy handles it.
            pending.remove(number)
            return pending.isEmpty ? .take(number) : .wait
        }
    }
}
