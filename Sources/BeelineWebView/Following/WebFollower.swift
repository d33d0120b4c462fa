// SPDX-License-Identifier: Apache-2.0

import CookieJar
import NIOConcurrencyHelpers
import Names

/// The implementation of ``WebCookieFollowing``: waits for changes of either side and makes rounds until both agree.
final class WebFollower: Sendable {
    private typealias Waiter = CompletionResult<Result<Void, WebViewError>>

    private enum Progress {
        /// Something was changed; make another round.
        case busy
        /// The store does not show all requested changes yet.
        case waiting
        /// Both sides agree.
        case agreed
    }

    private struct State {
        var waiters: [Waiter] = []
        var isEnded = false
    }

    /// The maximum number of consecutive rounds until both sides agree.
    private static let roundLimit = 200
    /// The maximum number of consecutive rounds without a pause, because a page may change its cookies all the time.
    private static let quickRounds = 3

    private let store: any WebCookieStore
    private let jar: CookieJar
    private let configuration: WebCookieFollowing.Configuration
    private let clock: any Clock<Duration>
    private let elapsed: @Sendable () -> Duration
    private let source = ChangeSource()
    private let news: CookieNews
    private let changes: AsyncStream<Void>
    private let wakes: AsyncStream<Void>
    private let wake: AsyncStream<Void>.Continuation
    /// Guards the callers that wait for an agreement.
    private let state = NIOLockedValueBox(State())

    init(
        _ store: any WebCookieStore,
        jar: CookieJar,
        configuration: WebCookieFollowing.Configuration,
        clock: any Clock<Duration>
    ) {
        (self.store, self.jar, self.configuration, self.clock) = (store, jar, configuration, clock)
        elapsed = clock.stopwatch()
        news = CookieNews(of: jar, except: source)
        changes = store.changes
        (wakes, wake) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        wake.yield()
    }

    /// Follows both sides until the task is cancelled.
    func run() async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { for await _ in self.news.arrivals() { self.wake.yield() } }
            group.addTask { for await _ in self.changes { self.wake.yield() } }
            group.addTask {
                while (try? await self.clock.sleep(for: self.configuration.interval.asWait)) != nil {
                    self.wake.yield()
                }
            }
            group.addTask { await self.rounds() }
            await group.waitForAll()
        }
        news.finish()
        let waiters = state.withLockedValue { state in
            state.isEnded = true
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.give(.failure(Self.stopped)) }
    }

    /// The number of callers whose agreement the next round settles.
    var waiting: Int { state.withLockedValue { $0.waiters.count } }

    private static let stopped = WebViewError(.stopped, "this cookie store is no longer followed")

    /// Waits until both sides have agreed at some moment after the call.
    func agreement() async throws(WebViewError) {
        let waiter = Waiter()
        let isEnded = state.withLockedValue { state in
            if !state.isEnded { state.waiters.append(waiter) }
            return state.isEnded
        }
        if isEnded { throw Self.stopped }
        wake.yield()
        do {
            try await waiter.value().get()
        } catch {
            throw WebViewError(error)
        }
    }

    private func rounds() async {
        var reconciliation = WebReconciliation(configuration) { [store] in store.kept(of: $0) }
        for await _ in wakes {
            let waiters = state.withLockedValue { state in
                defer { state.waiters = [] }
                return state.waiters
            }
            let result = await settle(&reconciliation)
            var report = reconciliation.takeReport()
            if case .failure(let error) = result { report.failures.append(error.message) }
            if !report.isEmpty, !Task.isCancelled { configuration.onReport?(report) }
            for waiter in waiters { waiter.give(result) }
        }
    }

    /// Makes rounds until both sides agree.
    private func settle(_ reconciliation: inout WebReconciliation) async -> Result<Void, WebViewError> {
        do {
            for number in 1...Self.roundLimit {
                switch try await round(&reconciliation) {
                case .busy where number <= Self.quickRounds: try Task.checkCancellation()
                case .busy, .waiting: try await clock.sleep(for: configuration.retryDelay.asWait)
                case .agreed: return .success(())
                }
            }
        } catch {
            return .failure(Task.isCancelled ? Self.stopped : WebViewError(error))
        }
        wake.yield()
        return .failure(WebViewError(.timedOut, "the jar or the page changes all the time: the two sides never agreed"))
    }

    /// Performs one round: reads both sides, plans the changes and writes them.
    private func round(_ reconciliation: inout WebReconciliation) async throws -> Progress {
        var shown = try await store.cookies()
        if reconciliation.hadCookies, !shown.contains(where: configuration.shares) {
            // A browser that is exiting may show no cookies. Read again before the jar loses all of them.
            try await clock.sleep(for: configuration.retryDelay.asWait)
            shown = try await store.cookies()
        }
        // Reads the jar after the store; the next round sees changes in between.
        let (all, news, now) = jar.catchUp(news)
        for change in news { reconciliation.note(change) }
        var (mine, theirs): ([CookiePlace: Cookie], [CookiePlace: Cookie]) = ([:], [:])
        for cookie in shown where !cookie.isExpired(at: now) && configuration.shares(cookie) {
            theirs[CookiePlace(cookie)] = cookie
        }
        for cookie in all {
            let place = CookiePlace(cookie)
            let isShared = configuration.shares(cookie) && store.kept(of: cookie) != nil
            if isShared { mine[place] = cookie } else { theirs[place] = nil }
        }
        let plan = reconciliation.plan(jar: mine, store: theirs, now: now, elapsed: elapsed())
        // Writes the jar first: it is fast, and rejects places that changed meanwhile.
        let carried = jar.carryOut(plan.jar, in: &mine, source: source, now: now)
        reconciliation.settle(jar: mine, store: theirs, outdated: carried.outdated)
        let rehomed = rehome(mine, now)
        reconciliation.note(carried, rehomed: rehomed)
        for cookie in plan.set { try await note(&reconciliation) { try await store.set(cookie) } }
        for cookie in plan.delete { try await note(&reconciliation) { try await store.delete(cookie) } }
        if !plan.isEmpty || rehomed > 0 { return .busy }
        return reconciliation.isWaiting ? .waiting : .agreed
    }

    /// Records an error of the store and continues; the request will be repeated.
    private func note(_ reconciliation: inout WebReconciliation, _ body: () async throws -> Void) async throws {
        do {
            try await body()
        } catch {
            try Task.checkCancellation()
            reconciliation.note(WebViewError(error))
        }
    }

    /// Moves cookies stored under an address whose host is known. The next round sees the moves as changes of the jar.
    private func rehome(_ cookies: [CookiePlace: Cookie], _ now: CookieTime) -> Int {
        guard let hostOfAddress = configuration.hostOfAddress else { return 0 }
        var count = 0
        for domain in Set(cookies.keys.map(\.domain)) {
            guard let address = (try? Host(domain))?.address, let host = hostOfAddress(address) else { continue }
            let result = jar.rehome(from: address, to: host, now: now)
            count += result.moved + result.superseded
        }
        return count
    }
}
