// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import BeelineWebView
import CookieJar
import NIOConcurrencyHelpers

/// A store that is asynchronous like those of platforms. Calls take effect later, in their order. Handlers are called
/// late and in any order. Observers are held weakly, and one notification may stand for several changes.
final class StandInStore: CompletionStore {
    struct Habits: Sendable {
        /// The largest number of turns before a call takes effect, and again before it is reported.
        var lateness = 3
        /// Whether a handler may be called before its call has taken effect.
        var answersEarly = false
        /// The percentage of deletions that are reported but do not happen.
        var lostDeletions = 0
        /// Calls whose handler is never called.
        var silent: Set<Call> = []
        /// Returns the cookie that the store keeps; nil if it drops the cookie silently.
        var keeps: @Sendable (Cookie) -> Cookie? = { $0 }
        /// Returns the cookie that the adapter expects the store to keep.
        var claims: @Sendable (Cookie) -> Cookie? = { $0 }
    }

    enum Call: Hashable, Sendable { case getAll, set, delete }

    /// The platform's object for a cookie, which the store identifies by a number.
    struct Object: Sendable {
        let cookie: Cookie
        let number: Int
    }

    /// Gets notified of changes, through a weak reference.
    private final class Observer: Sendable {
        let changed: @Sendable () -> Void
        init(_ changed: @escaping @Sendable () -> Void) { self.changed = changed }
    }

    private struct WeakObserver {
        weak var observer: Observer?
    }

    private enum Effect {
        case set(Cookie)
        case delete(Int)
    }

    private struct State {
        var objects: [CookiePlace: Object] = [:]
        var observers: [WeakObserver] = []
        var effects: [Effect] = []
        var random: SeededRandom
        var calls: [Call] = []
        var number = 0
        var running = 0
        var onNotify: (@Sendable () -> Void)?
    }

    let habits: Habits
    private let state: NIOLockedValueBox<State>

    init(_ habits: Habits = Habits(), seed: UInt64 = 1) {
        self.habits = habits
        state = NIOLockedValueBox(State(random: SeededRandom(seed: seed)))
    }

    /// The store in the form that the library uses.
    var store: CompletionCookieStore<StandInStore> { CompletionCookieStore(self) }

    // MARK: Values for tests

    /// The cookies as `name=value`, sorted.
    var pairs: [String] {
        state.withLockedValue { $0.objects.values.map { "\($0.cookie.name)=\($0.cookie.value)" }.sorted() }
    }
    var all: [Cookie] { state.withLockedValue { $0.objects.values.map(\.cookie) } }
    func cookie(_ name: String) -> Cookie? { all.first { $0.name == name } }
    /// The calls so far that change the store.
    var writes: [Call] { state.withLockedValue { $0.calls.filter { $0 != .getAll } } }
    var calls: [Call] { state.withLockedValue { $0.calls } }
    var observerCount: Int { state.withLockedValue { $0.observers.count { $0.observer != nil } } }

    /// Called before each observer is notified of a change.
    var onNotify: (@Sendable () -> Void)? {
        get { state.withLockedValue { $0.onNotify } }
        set { state.withLockedValue { $0.onNotify = newValue } }
    }

    /// Returns when no call is open.
    func rest() async throws {
        try await eventually("the end of all calls") { self.state.withLockedValue { $0.running == 0 } }
    }

    // MARK: Changes by a page

    func pageSets(_ cookie: Cookie) {
        var cookie = cookie
        if cookie.created == .distantPast { cookie.created = .now }
        put(cookie)
        notify()
    }

    func pageSets(_ name: String, _ value: String, domain: String = "a.test", path: String = "/") {
        pageSets(Cookie(name, value, domain: domain, path: path))
    }

    func pageDeletes(_ name: String) {
        state.withLockedValue { state in
            for (place, object) in state.objects where object.cookie.name == name { state.objects[place] = nil }
        }
        notify()
    }

    private func put(_ cookie: Cookie) {
        state.withLockedValue { state in
            state.number += 1
            state.objects[CookiePlace(cookie)] = Object(cookie: cookie, number: state.number)
        }
    }

    // MARK: CompletionStore

    func cookie(_ object: Object) -> Cookie? { object.cookie }
    func object(_ cookie: Cookie) -> Object? { habits.claims(cookie).map { _ in Object(cookie: cookie, number: 0) } }
    func kept(of cookie: Cookie) -> Cookie? { habits.claims(cookie) }

    func getAll(_ completion: @escaping @Sendable ([Object]) -> Void) {
        guard begins(.getAll) else { return }
        later { [self] in
            let objects = state.withLockedValue { state in state.objects.values.shuffled(using: &state.random) }
            later { completion(objects) }
        }
    }

    func set(_ object: Object, _ completion: @escaping @Sendable () -> Void) {
        act(.set(object.cookie), call: .set, completion: completion)
    }

    func delete(_ object: Object, _ completion: @escaping @Sendable () -> Void) {
        act(.delete(object.number), call: .delete, completion: completion)
    }

    func observe(_ changed: @escaping @Sendable () -> Void) -> @Sendable () -> Void {
        let observer = Observer(changed)
        state.withLockedValue { $0.observers.append(WeakObserver(observer: observer)) }
        return { [self] in
            state.withLockedValue { $0.observers.removeAll { $0.observer === observer || $0.observer == nil } }
        }
    }

    // MARK: Habits

    private func begins(_ call: Call) -> Bool {
        state.withLockedValue { $0.calls.append(call) }
        return !habits.silent.contains(call)
    }

    private func act(_ effect: Effect, call: Call, completion: @escaping @Sendable () -> Void) {
        guard begins(call) else { return }
        state.withLockedValue { $0.effects.append(effect) }
        if habits.answersEarly { later(completion) }
        later { [self] in
            // Applies the oldest effect, not necessarily that of this call: effects keep their order, handlers do not.
            happen()
            notify()
            if !habits.answersEarly { later(completion) }
        }
    }

    private func happen() {
        state.withLockedValue { state in
            switch state.effects.removeFirst() {
            case .set(let cookie):
                guard var cookie = habits.keeps(cookie) else { return }
                if cookie.created == .distantPast { cookie.created = .now }
                state.number += 1
                state.objects[CookiePlace(cookie)] = Object(cookie: cookie, number: state.number)
            case .delete(let number):
                if Int.random(in: 0..<100, using: &state.random) < habits.lostDeletions { return }
                for (place, object) in state.objects where object.number == number { state.objects[place] = nil }
            }
        }
    }

    private func notify() {
        later { [self] in
            for weak in state.withLockedValue({ $0.observers }) {
                onNotify?()
                weak.observer?.changed()
            }
        }
    }

    private func later(_ body: @escaping @Sendable () -> Void) {
        let turns = state.withLockedValue { state in
            state.running += 1
            return Int.random(in: 0...habits.lateness, using: &state.random)
        }
        Task { [self] in
            for _ in 0..<turns { await Task.yield() }
            body()
            state.withLockedValue { $0.running -= 1 }
        }
    }
}

extension CookieJar {
    /// The cookies as `name=value`, sorted.
    var pairs: [String] { allCookies().map { "\($0.name)=\($0.value)" }.sorted() }

    func cookie(_ name: String) -> Cookie? { allCookies().first { $0.name == name } }
}
