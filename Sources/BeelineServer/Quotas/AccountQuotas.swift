// SPDX-License-Identifier: Apache-2.0

import HTTPDNS
import NIOConcurrencyHelpers

final class AccountQuotas: Sendable {
    /// A period with its own limit.
    private enum Period: Int64 {
        case second = 1
        case day = 86_400

        /// How long the store keeps a counter: longer than clocks of servers differ.
        var lifetime: Duration { .seconds(self == .second ? 10 : rawValue + 3_600) }
        var letter: String { self == .second ? "s" : "d" }
    }

    private struct Key: Hashable {
        let account: String
        let period: Period
    }

    private let store: (any QuotaStore)?
    /// Seconds since 1970.
    private let clock: @Sendable () -> Int64
    /// Two for each account at most.
    private let windows = NIOLockedValueBox<[Key: QuotaWindow]>([:])

    /// How long a question waits for the store.
    private let limit: Duration

    init(_ store: (any QuotaStore)?, limit: Duration = .milliseconds(100), clock: @escaping @Sendable () -> Int64) {
        self.store = store
        self.limit = limit
        self.clock = clock
    }

    /// Whether an account may ask questions now. They are counted if so.
    func allows(_ questions: Int, of account: ServerAccount?) async -> Bool {
        guard let account, let quota = account.quota else { return true }
        if let limit = quota.perSecond {
            let key = Key(account: account.id, period: .second)
            guard await allows(questions, in: key, limit: limit) else { return false }
        }
        guard let limit = quota.perDay else { return true }
        return await allows(questions, in: Key(account: account.id, period: .day), limit: limit)
    }

    private func allows(_ questions: Int, in key: Key, limit: Int) async -> Bool {
        // A second try, because other questions may take what this one has reserved. After that the account is at its limit.
        for _ in 0..<2 {
            let now = clock()
            switch change(key, limit: limit, with: { $0.take(questions, now: now) }) {
            case .allowed: return true
            case .refused: return false
            case .reserve(let amount, let start):
                let name = "\(key.account):\(key.period.letter):\(start)"
                let total = await add(amount, to: name, lifetime: key.period.lifetime)
                change(key, limit: limit, with: { $0.reserved(amount, start: start, total: total) })
            }
        }
        let now = clock()
        return change(key, limit: limit, with: { $0.take(questions, now: now) }) == .allowed
    }

    @discardableResult
    private func change<Result>(_ key: Key, limit: Int, with body: (inout QuotaWindow) -> Result) -> Result {
        windows.withLockedValue { windows in
            var window = windows[key] ?? QuotaWindow(limit: limit, length: key.period.rawValue)
            // A reload may have changed the limit.
            if window.limit != limit { window = QuotaWindow(limit: limit, length: key.period.rawValue) }
            defer { windows[key] = window }
            return body(&window)
        }
    }

    /// Adds to a counter of the store. Nil if there is none, or if it does not answer in time.
    private func add(_ amount: Int, to key: String, lifetime: Duration) async -> Int? {
        guard let store else { return nil }
        // In a separate task: the amount may be counted although the question is cancelled. If it were lost, a client that
        // cancels its questions would use up the quota, or make this server count alone.
        return await Task { [limit] in
            await firstResult(within: limit) { await store.add(amount, to: key, lifetime: lifetime) }
        }.value
    }
}
