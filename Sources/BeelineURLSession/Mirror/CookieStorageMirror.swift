// SPDX-License-Identifier: Apache-2.0

public import CookieJar
import NIOConcurrencyHelpers

#if canImport(FoundationNetworking)
import Foundation
public import FoundationNetworking
#else
public import Foundation
#endif

/// Keeps a jar and a storage of Foundation the same: what is set or deleted in one is set or deleted in the other.
///
/// ```swift
/// let mirror = CookieStorageMirror(jar: client.configuration.jar, storage: configuration.httpCookieStorage)
/// async let following: Void = mirror.run()   // until its task is cancelled
/// mirror.sync()                              // both agree now
/// ```
///
/// Of two changes to one cookie the newer wins; where the times do not tell, ``Configuration/truth`` does. A deletion
/// travels, but not what went because its time was over or because its store was full. Cookies that Foundation has no place
/// for (Partitioned, nameless, not UTF-8) stay in the jar, and attributes that it loses stay in the jar too.
/// `docs/COOKIES-BRIDGE.md` has the list.
///
/// Foundation on Linux sends what it holds without a look at Secure, path and SameSite: do not hand it what must not leave
/// over http (``Configuration/shares``). Its shared storage also writes a file with each cookie; that of an ephemeral
/// configuration does not.
public final class CookieStorageMirror: Sendable {
    /// One of the two sides.
    public enum Truth: Hashable, Sendable {
        /// The jar.
        case jar
        /// The storage.
        case storage

        var side: CookieReconciliation.Side { self == .jar ? .jar : .store }
    }

    /// What a mirror does.
    public struct Configuration: Sendable {
        /// The side that is right where both changed a cookie and nobody knows which was later, as at the first ``sync()``.
        /// Default: the jar; on Apple's platforms the storage.
        public var truth: Truth
        /// Whether the storage begins as a copy of the jar: what only the storage has at the first ``sync()`` is deleted
        /// there. Default false: what either side has goes to the other. True is for a jar that is kept on disk, so that a
        /// logout of which the storage did not hear is not undone by the storage's own file.
        public var beginsFromJar = false
        /// Whether ``beginsFromJar`` is only about what the storage's own file may have: a session cookie is in no file, so the
        /// program has set it since it began.
        package var keepsSessionCookies = false
        /// How often ``run()`` looks at the storage. Default 1 s. Foundation tells of changes on Apple's platforms alone.
        public var interval: Duration = .seconds(1)
        /// Which of the jar's cookies the storage gets; default all. It must say the same of a cookie each time.
        public var shares: @Sendable (Cookie) -> Bool = { _ in true }

        /// The defaults.
        public init() {
            #if canImport(Darwin)
            truth = .storage
            #else
            truth = .jar
            #endif
        }
    }

    /// What a ``CookieStorageMirror/sync()`` did.
    public struct Report: Hashable, Sendable {
        /// Cookies that the jar got.
        public var intoJar = 0
        /// Cookies that were deleted from the jar.
        public var outOfJar = 0
        /// Cookies that the storage got.
        public var intoStorage = 0
        /// Cookies that were deleted from the storage; among them those whose time was over.
        public var outOfStorage = 0
        /// Cookies of the storage that the jar does not take, and why. They are tried again when they change.
        public var refused: [CookieRejection] = []

        /// The report of a round that did nothing.
        public init() {}

        /// Whether both sides agreed already.
        public var isEmpty: Bool { self == Report() }
    }

    /// The jar.
    public let jar: CookieJar
    /// The storage.
    public let storage: HTTPCookieStorage
    /// What the mirror does.
    public let configuration: Configuration
    private let clock: any Clock<Duration>
    let news: CookieNews
    let source = ChangeSource()
    /// Held for a whole round, so that rounds follow each other.
    private let reconciliation: NIOLockedValueBox<CookieReconciliation>
    #if canImport(FoundationNetworking)
    /// What has left the storage.
    let departures = NIOLockedValueBox(CookieDepartures())
    #endif

    /// A mirror; it does nothing before ``run()`` or ``sync()``.
    ///
    /// - Parameter clock: By which ``run()`` waits.
    /// - Parameter configuration: Bounds and habits.
    /// - Parameter storage: Foundation's side.
    /// - Parameter jar: Our side.
    public init(
        jar: CookieJar,
        storage: HTTPCookieStorage,
        configuration: Configuration = Configuration(),
        clock: any Clock<Duration> = ContinuousClock()
    ) {
        self.jar = jar
        self.storage = storage
        self.configuration = configuration
        self.clock = clock
        news = CookieNews(of: jar, except: source)
        reconciliation = NIOLockedValueBox(
            CookieReconciliation(
                truth: configuration.truth.side,
                isLeftover: {
                    configuration.beginsFromJar && !(configuration.keepsSessionCookies && $0.expires == nil)
                },
                kept: { $0.inFoundation }
            )
        )
    }

    deinit { news.finish() }

    /// Follows both sides until the task is cancelled. It is to be called once at a time.
    public func run() async {
        sync()
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.followJar() }
            group.addTask { await self.watchStorage() }
            #if canImport(Darwin)
            group.addTask { await self.followStorage() }
            #endif
            await group.next()
            group.cancelAll()
        }
    }

    private func followJar() async {
        for await _ in news.arrivals() { sync() }
    }

    private func watchStorage() async {
        while (try? await clock.sleep(for: configuration.interval.asWait)) != nil { sync() }
    }

    #if canImport(Darwin)
    private func followStorage() async {
        let name = Notification.Name.NSHTTPCookieManagerCookiesChanged
        for await _ in NotificationCenter.default.notifications(named: name, object: storage) { sync() }
    }
    #endif

    /// Makes both sides agree, now. It must not be called by an observer of the storage while the mirror writes to it.
    @discardableResult
    public func sync() -> Report { reconciliation.withLockedValue { round(&$0) } }
}
