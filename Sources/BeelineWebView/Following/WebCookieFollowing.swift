// SPDX-License-Identifier: Apache-2.0

public import CookieJar
public import Names

/// Keeps a jar and the store of a browser or of web views the same: a login or a logout in a page reaches the jar, and
/// the other way round. ``WebCookieStore/follow(_:configuration:clock:)`` begins it.
///
/// It ends with ``stop()``, or with the last reference to it: keep it for as long as the web view lives.
///
/// Both sides are compared with what they had when they last agreed, whenever one of them says that something happened,
/// and from time to time. What differs on one side was changed there and goes to the other, once. Of two changes to one
/// cookie the newer counts. What the jar lost because its time was over or the jar was full is not deleted in the
/// store.
///
/// Web stores have no way to change a cookie only if it is still the same: a change that a page makes in the instant in
/// which the same cookie is written here is overwritten by it. Both sides still end with the same cookie.
public final class WebCookieFollowing: Sendable {
    /// One of the two sides.
    public enum Side: Hashable, Sendable {
        /// The jar.
        case jar
        /// The store.
        case store
    }

    /// How two sides are kept the same.
    public struct Configuration: Sendable {
        /// The side that is right where both changed a cookie and the times do not tell which was later, as at the
        /// beginning. Default: the jar.
        public var truth = Side.jar
        /// Whether the store begins as a copy of the jar: what only the store has is deleted there. Default false: what
        /// either side has goes to the other. True is for a jar that is kept on disk, so that a logout that happened
        /// while no web view lived is not undone by the web view's own files.
        public var beginsFromJar = false
        /// How often the store is looked at though it said nothing. Default 2 s.
        public var interval = Duration.seconds(2)
        /// How long the store has to show what it was asked for before it is asked again. Default 100 ms.
        public var retryDelay = Duration.milliseconds(100)
        /// How often it is asked for one thing at most; then that is in the report, and tried again when the cookie
        /// changes. Default 20.
        public var attempts = 20
        /// Which cookies are carried, either way; default all. It must say the same of a cookie each time.
        public var shares: @Sendable (Cookie) -> Bool = { _ in true }
        /// The host that an address served. Cookies that come in filed under the address move to it, in the jar and in
        /// the store: `{ try? resolver.onlyHost(of: $0) }`. Nil for an address leaves its cookies where they are.
        /// Default: none moves.
        public var hostOfAddress: (@Sendable (IPAddress) -> Host?)?
        /// Gets a report whenever something was carried over, or failed. Default: nobody does.
        public var onReport: (@Sendable (Report) -> Void)?

        /// The defaults.
        public init() {}
    }

    /// What was done.
    public struct Report: Hashable, Sendable {
        /// Cookies that the jar got.
        public var intoJar = 0
        /// Cookies that were deleted from the jar.
        public var outOfJar = 0
        /// Cookies that the store got, and shows.
        public var intoStore = 0
        /// Cookies that were deleted from the store.
        public var outOfStore = 0
        /// Cookies that moved from an address to its host.
        public var rehomed = 0
        /// Why the jar does not take cookies of the store. They stay there, and are tried again when they change.
        public var refused: [CookieRejection] = []
        /// Cookies that the store did not take, or did not delete, however often it was asked.
        public var unfinished: [Cookie] = []
        /// What the store threw; one line.
        public var failures: [String] = []

        /// The report of nothing.
        public init() {}

        /// Whether nothing was to be done.
        public var isEmpty: Bool { self == Report() }
    }

    private let follower: WebFollower
    private let task: Task<Void, Never>

    init(_ follower: WebFollower) {
        self.follower = follower
        task = Task { await follower.run() }
    }

    deinit { task.cancel() }

    /// Returns when both sides have been seen to agree at some moment after the call. What was done for it is in the
    /// reports, which ``Configuration/onReport`` has got by then.
    ///
    /// - Throws: ``WebViewError``: what the store threw; `timedOut` where the page or the jar changes without end; `stopped`;
    ///   `cancelled`.
    public func sync() async throws(WebViewError) { try await follower.agreement() }

    /// Ends it. When this returns, neither side is touched any more.
    public func stop() async {
        task.cancel()
        await task.value
    }
}

extension WebCookieStore {
    /// Keeps this store and a jar the same from now on.
    ///
    /// ```swift
    /// let following = store.follow(jar)
    /// …
    /// await following.stop()
    /// ```
    ///
    /// A store belongs to one jar: profiles are kept apart by giving each a store and a jar of its own. Several web
    /// views that share a store are followed once; several stores may follow one jar.
    ///
    /// - Parameters:
    ///   - jar: The jar.
    ///   - configuration: Bounds and habits.
    ///   - clock: By which it waits.
    /// - Returns: What keeps it going; it ends with `stop()` or with the last reference to it.
    public func follow(
        _ jar: CookieJar,
        configuration: WebCookieFollowing.Configuration = WebCookieFollowing.Configuration(),
        clock: any Clock<Duration> = ContinuousClock()
    ) -> WebCookieFollowing {
        WebCookieFollowing(WebFollower(self, jar, configuration, clock))
    }
}
