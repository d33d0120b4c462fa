// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import HTTPDNS
import NIOConcurrencyHelpers
import Names
import Testing

@testable import BeelineServer

@Suite("Quotas of accounts", .timeLimit(.minutes(1)))
struct QuotaTests {
    /// Counters in memory, which may be away or silent.
    private final class Counters: QuotaStore {
        enum State {
            case up, away, silent
            /// Counts after the gate was opened, unless it is cancelled before.
            case held(Gate)
        }

        let state = NIOLockedValueBox(State.up)
        let values = NIOLockedValueBox<[String: Int]>([:])
        let calls = NIOLockedValueBox(0)

        func add(_ amount: Int, to key: String, lifetime: Duration) async -> Int? {
            calls.withLockedValue { $0 += 1 }
            switch state.withLockedValue({ $0 }) {
            case .up: return count(amount, for: key)
            case .held(let gate):
                do { try await gate.wait() } catch { return nil }
                return count(amount, for: key)
            case .away: return nil
            case .silent:
                try? await Gate().wait()
                return nil
            }
        }

        private func count(_ amount: Int, for key: String) -> Int? {
            values.withLockedValue { values in
                values[key, default: 0] += amount
                return values[key]
            }
        }
    }

    private static func account(_ quota: AccountQuota) throws -> ServerAccount {
        var account = try ServerAccount(id: "7", secret: "s3cret")
        account.quota = quota
        return account
    }

    /// How many of some questions are allowed.
    private static func allowed(_ quotas: AccountQuotas, of account: ServerAccount, among count: Int) async -> Int {
        var allowed = 0
        for _ in 0..<count where await quotas.allows(1, of: account) { allowed += 1 }
        return allowed
    }

    @Test("without a store, a server allows the limit in each second and each day")
    func alone() async throws {
        let now = NIOLockedValueBox<Int64>(86_400 * 20_000)
        let quotas = AccountQuotas(nil) { now.withLockedValue { $0 } }
        let account = try Self.account(AccountQuota(perSecond: 5, perDay: 12))
        for expected in [5, 5, 2, 0] {
            #expect(await Self.allowed(quotas, of: account, among: 9) == expected)
            now.withLockedValue { $0 += 1 }
        }
        now.withLockedValue { $0 += 86_400 }
        #expect(await Self.allowed(quotas, of: account, among: 9) == 5)
        #expect(await quotas.allows(1, of: nil))
    }

    @Test("servers together allow the limit and no more, with few calls of the store")
    func shared() async throws {
        let store = Counters()
        let account = try Self.account(AccountQuota(perSecond: 1_000))
        let servers = (0..<4).map { _ in AccountQuotas(store) { 1_000_000 } }
        let allowed = await withTaskGroup(of: Int.self) { group in
            for server in servers { group.addTask { await Self.allowed(server, of: account, among: 500) } }
            return await group.reduce(0, +)
        }
        // Each server may hold back a part of its last block.
        #expect(allowed <= 1_000 && allowed > 1_000 - 4 * 20, "\(allowed)")
        #expect(store.calls.withLockedValue { $0 } < 100)
        #expect(store.values.withLockedValue { $0.keys.sorted() } == ["7:s:1000000"])
    }

    @Test("parallel questions reserve one block and not one each, which other servers would lack")
    func parallel() async throws {
        let (store, gate) = (Counters(), Gate())
        store.state.withLockedValue { $0 = .held(gate) }
        let quotas = AccountQuotas(store, limit: .seconds(60)) { 1_000_000 }
        let account = try Self.account(AccountQuota(perSecond: 1_000))
        async let allowed: Int = withTaskGroup(of: Bool.self) { group in
            for _ in 0..<50 { group.addTask { await quotas.allows(1, of: account) } }
            return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        try await gate.arrivals(atLeast: 50)
        gate.open()
        #expect(await allowed == 50)
        // The limit of 1,000 has blocks of 20.
        #expect(store.values.withLockedValue { $0["7:s:1000000"] ?? 0 } <= 50 + 20)
    }

    @Test("a question that is cancelled while the store is asked loses nothing of the quota")
    func cancelled() async throws {
        let (store, gate) = (Counters(), Gate())
        store.state.withLockedValue { $0 = .held(gate) }
        let quotas = AccountQuotas(store, limit: .seconds(60)) { 1_000_000 }
        let account = try Self.account(AccountQuota(perSecond: 1_000))
        let question = Task { await quotas.allows(1, of: account) }
        try await gate.arrivals(atLeast: 1)
        question.cancel()
        gate.open()
        #expect(await question.value)
        #expect(await Self.allowed(quotas, of: account, among: 19) == 19)
        #expect(store.values.withLockedValue { $0 } == ["7:s:1000000": 20])
    }

    @Test("if the store is away or silent, the server counts alone, and a question waits for a bounded time")
    func storeIsAway() async throws {
        let store = Counters()
        let account = try Self.account(AccountQuota(perSecond: 3))
        for state in [Counters.State.away, .silent] {
            store.state.withLockedValue { $0 = state }
            let quotas = AccountQuotas(store) { 1_000_000 }
            #expect(await Self.allowed(quotas, of: account, among: 5) == 3)
        }
    }

    @Test("a block that others have spent in part is used in part")
    func window() {
        var window = QuotaWindow(limit: 100, length: 1)
        #expect(window.take(1, now: 7) == .reserve(2, start: 7))
        window.reserved(2, start: 7, total: 101)
        #expect(window.take(1, now: 7) == .allowed)
        #expect(window.take(1, now: 7) == .refused)
        // The result of an earlier second changes nothing.
        #expect(window.take(5, now: 8) == .reserve(5, start: 8))
        window.reserved(2, start: 7, total: 2)
        #expect(window.take(5, now: 8) == .reserve(5, start: 8))
    }

    @Test("a clock that is set back by up to a window does not give its questions again")
    func clockSetBack() {
        var window = QuotaWindow(limit: 1, length: 86_400)
        let midnight: Int64 = 86_400 * 20_000
        #expect(window.take(1, now: midnight) == .reserve(1, start: midnight))
        window.reserved(1, start: midnight, total: nil)
        #expect(window.take(1, now: midnight) == .allowed)
        #expect(window.take(1, now: midnight) == .reserve(1, start: midnight))
        window.reserved(1, start: midnight, total: nil)
        for now in [midnight - 1, midnight - 3_600, midnight] { #expect(window.take(1, now: now) == .refused) }
        // After a clock that was far ahead, the window must not last until then.
        let past = midnight - 100 * 86_400
        #expect(window.take(1, now: past) == .reserve(1, start: past))
    }

    @Test("a clock that was a day ahead leaves no window that lasts for days")
    func clockAhead() {
        var window = QuotaWindow(limit: 1, length: 86_400)
        let midnight: Int64 = 86_400 * 20_000
        let ahead = midnight + 86_400
        #expect(window.take(1, now: ahead + 50_000) == .reserve(1, start: ahead))
        window.reserved(1, start: ahead, total: nil)
        #expect(window.take(1, now: ahead + 50_000) == .allowed)
        #expect(window.take(1, now: midnight + 50_000) == .reserve(1, start: midnight))
    }

    @Test("a counter that another program has set to a negative number ends no server", arguments: [Int.min, -1, 1])
    func foreignCounter(total: Int) {
        var window = QuotaWindow(limit: 100, length: 1)
        #expect(window.take(1, now: 7) == .reserve(2, start: 7))
        window.reserved(2, start: 7, total: total)
        #expect(window.take(1, now: 7) == .allowed)
    }

    @Test("an account over its quota gets 429 in its form")
    func forms() async throws {
        let lab = try await ServerLab { $0.accounts = [try Self.account(AccountQuota(perDay: 2))] }
        var statuses: [Int] = []
        for _ in 0..<3 { statuses.append(try await lab.get("/d?dn=www.corp.test&token=s3cret").status) }
        #expect(statuses == [200, 200, 429])
        let time = SigningClock.deviceTime() + 60
        let signature = Digests.md5("www.corp.test-s3cret-\(time)")
        let reply = try await lab.get("/7/sign_d?host=www.corp.test&t=\(time)&s=\(signature)")
        #expect(reply.status == 429 && reply.body == Array(#"{"code":"QuotaExceeded"}"#.utf8))
        await lab.stop()
    }
}
