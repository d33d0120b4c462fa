// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import BeelineWebView
import CookieJar
import NIOConcurrencyHelpers

/// A store that does not answer while it is shut, and fails while it is broken.
final class GatedStore: WebCookieStore {
    private struct State {
        var isShut = false
        var isBroken = false
        var isBlocking = false
    }

    struct Broken: Error {}

    private let standIn: StandInStore
    private let state = NIOLockedValueBox(State())

    init(_ standIn: StandInStore) { self.standIn = standIn }

    var isShut: Bool {
        get { state.withLockedValue { $0.isShut } }
        set { state.withLockedValue { $0.isShut = newValue } }
    }

    var isBroken: Bool {
        get { state.withLockedValue { $0.isBroken } }
        set { state.withLockedValue { $0.isBroken = newValue } }
    }

    /// Returns when a read waits because the store is shut.
    func blocks() async throws {
        try await eventually("a read that waits") { self.state.withLockedValue { $0.isBlocking } }
    }

    func cookies() async throws -> [Cookie] {
        defer { state.withLockedValue { $0.isBlocking = false } }
        while isShut {
            state.withLockedValue { $0.isBlocking = true }
            try Task.checkCancellation()
            await Task.yield()
        }
        if isBroken { throw Broken() }
        return try await standIn.store.cookies()
    }

    func set(_ cookie: Cookie) async throws { try await standIn.store.set(cookie) }
    func delete(_ cookie: Cookie) async throws { try await standIn.store.delete(cookie) }
    var changes: AsyncStream<Void> { standIn.store.changes }
}
