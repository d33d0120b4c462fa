// SPDX-License-Identifier: Apache-2.0

#if Redis
import CookieJar
import NIOConcurrencyHelpers

/// The changes that a login makes to its copy of a shared jar. They reach the shared jar together, or not at all.
final class LoginDraft: CookieFollower {
    /// The maximum number of cookies that a login changes.
    static let maxChanges = 1_000

    private let clock: @Sendable () -> CookieTime
    private let pending = NIOLockedValueBox(PendingChanges(capacity: maxChanges))

    private init(clock: @escaping @Sendable () -> CookieTime) { self.clock = clock }

    /// Copies a shared jar, and follows the changes of the copy.
    static func copy(of context: JarContext, limits: CookieJarConfiguration) -> (jar: CookieJar, draft: LoginDraft) {
        let draft = LoginDraft(clock: context.clock)
        let jar = CookieJar(configuration: limits, clock: context.clock)
        jar.insert(context.jar.allCookies())
        jar.follow(draft)
        return (jar, draft)
    }

    let isFinished = false

    func finish() {}

    func note(_ changes: [CookieChange]) {
        let now = clock()
        pending.withLockedValue { pending in
            // An eviction concerns the copy only.
            for change in changes where change.kind != .removed(.evicted) { pending.note(change, at: now) }
        }
    }

    /// The changes in order. Nil if there were too many.
    ///
    /// - Parameter stamp: Returns the version of the next change. The draft's own versions are as old as the login's
    ///   requests, so changes that others made since then would win against them.
    func take(at stamp: () -> Int64) -> [PendingChanges.Entry]? {
        guard case .changes(let changes) = pending.withLockedValue({ $0.take() }) else { return nil }
        return changes.map { PendingChanges.Entry(cookie: $0.cookie, kind: $0.kind, updated: stamp()) }
    }
}
#endif
