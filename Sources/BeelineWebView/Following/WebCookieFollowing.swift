// SPDX-License-Identifier: Apache-2.0

public import CookieJar
public import Names

/// Keeps a jar and the cookie store of a browser or of web views in sync: a login or logout in a page reaches the jar, and a
/// change of the jar reaches the pages. ``WebCookieStore/follow(_:configuration:clock:)`` starts it.
///
/// It ends with ``stop()`` or when it is deallocated: keep it as long as the web view exists.
///
/// It compares both sides with their last common state, after each notification and at a regular interval. A cookie that
/// differs on one side was changed there and is copied to the other, once. If a cookie changes on both sides, the newer change
/// wins. Cookies that the jar removes because of expiry or its size limits are not deleted in the store.
///
/// Web stores have no conditional write. If a page changes a cookie at the same moment as this class, the
/// page's change is overwritten. Both sides still end with the same cookie.
public final class WebCookieFollowing: Sendable {
    /// One of the two sides.
    public enum Side: Hashable, Sendable {
        /// The jar.
        case jar
        /// The store.
        case store
    }

    /// How a store and a jar are kept in sync.
    public struct Configuration: Sendable {
        /// The side that wins if a cookie differs on both sides and the later change is not known, as at the start. Default:
        /// the jar.
        public var truth = Side.jar
        /// Whether the store starts as a copy of the jar: cookies that only the store has are deleted. Default false: both
        /// sides are merged. Use true for a jar that is kept on disk, so that the web view's own files cannot undo a logout
        /// that happened while no web view existed.
        public var beginsFromJar = false
        /// How often to check the store without a notification. Default 2 s.
        public var interval = Duration.seconds(2)
        /// How long to wait for the store to show a requested change before the request is repeated. Default 100 ms.
        package var retryDelay = Duration.milliseconds(100)
        /// The maximum number of requests for one change. After that, it is in the report, and is tried again when the cookie
        /// changes. Default 20.
        package var attempts = 20
        /// Whether to copy a cookie, in either direction; default all. It must return the same result for a cookie each time.
        public var shares: @Sendable (Cookie) -> Bool = { _ in true }
        /// Returns the host that an address served, for example the only one of `Resolver.hosts(of:)`. Incoming cookies of
        /// the address then move to the host, in the jar and in the store. If it returns `nil`, they stay. Default `nil`: no
        /// cookies move.
        public var hostOfAddress: (@Sendable (IPAddress) -> Host?)?
        /// Called after each change or failure. Default `nil`.
        public var onReport: (@Sendable (Report) -> Void)?

        /// Creates a configuration with default values.
        public init() {}
    }

    /// The changes and failures since the last report.
    public struct Report: Hashable, Sendable {
        /// The number of cookies added to the jar.
        public var intoJar = 0
        /// The number of cookies deleted from the jar.
        public var outOfJar = 0
        /// The number of cookies added to the store and shown by it.
        public var intoStore = 0
        /// The number of cookies deleted from the store.
        public var outOfStore = 0
        /// The number of cookies moved from an address to its host.
        public var rehomed = 0
        /// Why the jar rejected cookies of the store. They stay in the store, and are tried again when they change.
        public var refused: [CookieRejection] = []
        /// Cookies that the store did not accept or delete after all attempts.
        public var unfinished: [Cookie] = []
        /// The errors of the store, one line each.
        public var failures: [String] = []

        /// Creates an empty report.
        package init() {}

        /// Whether there were no changes and no failures.
        public var isEmpty: Bool { self == Report() }
    }

    private let follower: WebFollower
    private let task: Task<Void, Never>

    init(_ follower: WebFollower) {
        self.follower = follower
        task = Task { await follower.run() }
    }

    deinit { task.cancel() }

    /// Waits until both sides have agreed at some moment after the call. By then, ``Configuration/onReport`` has received the
    /// reports of all changes.
    ///
    /// - Throws: ``WebViewError``: the error of the store, `timedOut` if the page or the jar changes endlessly, `stopped` or
    ///   `cancelled`.
    public func sync() async throws(WebViewError) { try await follower.agreement() }

    /// The number of calls of `sync()` that wait for the next round.
    package var waiting: Int { follower.waiting }

    /// Stops the sync. After it returns, neither side is changed.
    public func stop() async {
        task.cancel()
        await task.value
    }
}

extension WebCookieStore {
    /// Keeps this store and a jar in sync.
    ///
    /// ```swift
    /// let following = store.follow(jar)
    /// …
    /// await following.stop()
    /// ```
    ///
    /// A store belongs to one jar. To separate profiles, give each its own store and jar. Follow a store once, even if several
    /// web views share it. Several stores may follow the same jar.
    ///
    /// - Parameters:
    ///   - jar: The jar.
    ///   - configuration: The configuration.
    ///   - clock: The clock for intervals and delays.
    /// - Returns: The object that keeps both in sync until `stop()` or its deallocation.
    public func follow(
        _ jar: CookieJar,
        configuration: WebCookieFollowing.Configuration = WebCookieFollowing.Configuration(),
        clock: any Clock<Duration> = ContinuousClock()
    ) -> WebCookieFollowing {
        WebCookieFollowing(WebFollower(self, jar: jar, configuration: configuration, clock: clock))
    }
}
