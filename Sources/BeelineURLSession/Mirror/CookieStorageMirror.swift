// SPDX-License-Identifier: Apache-2.0

public import CookieJar
import NIOConcurrencyHelpers

#if canImport(FoundationNetworking)
import Foundation
public import FoundationNetworking
#else
public import Foundation
#endif

/// Keeps a `CookieJar` and an `HTTPCookieStorage` in sync: a cookie that is set or deleted in one is set or deleted in the
/// other.
///
/// ```swift
/// let mirror = CookieStorageMirror(jar: jar, storage: .shared)
/// async let following: Void = mirror.run()   // until its task is cancelled
/// mirror.sync()                              // both agree now
/// ```
///
/// If a cookie changes on both sides, the newer change wins; if the times are not known, ``Configuration/truth`` decides.
/// Deletions are copied, but not removals because of expiry or a full store. Cookies that Foundation cannot store (Partitioned,
/// without a name, not UTF-8) and attributes that it drops stay in the jar. <doc:CookiesBridge> has the list.
///
/// Foundation on Linux ignores Secure, path and SameSite when it sends cookies: use ``Configuration/shares`` to exclude cookies
/// that must not be sent over http. Its shared storage also writes a file for each change; the storage of an ephemeral
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

    /// The configuration of a mirror.
    public struct Configuration: Sendable {
        /// The side that wins if a cookie differs on both sides and the later change is not known, as at the first ``sync()``.
        /// Default: the jar; on Apple platforms the storage.
        public var truth: Truth
        /// Whether the storage starts as a copy of the jar: the first ``sync()`` then deletes cookies that only the storage
        /// has. Default false: it merges both sides. Use true for a jar that is kept on disk, so that the storage's own file
        /// cannot restore cookies that a logout has deleted.
        public var beginsFromJar = false
        /// Whether ``beginsFromJar`` spares session cookies. The storage's file has no session cookies, so the program has set
        /// them since its start.
        package var keepsSessionCookies = false
        /// Tells which cookies of a storage's file were in the jar at the last sync. With a record, ``beginsFromJar`` deletes
        /// only those: the program has set the others since then. Default nil.
        package var record: MirrorRecord?
        /// How often ``run()`` checks the storage for changes. Default 1 s. On Apple platforms Foundation also reports
        /// changes at once.
        public var interval: Duration = .seconds(1)
        /// Whether the storage may have a cookie of the jar; default all. It must return the same result for a cookie each
        /// time.
        public var shares: @Sendable (Cookie) -> Bool = { _ in true }

        /// Creates a configuration with default values.
        public init() {
            #if canImport(Darwin)
            truth = .storage
            #else
            truth = .jar
            #endif
        }
    }

    /// The changes that a ``CookieStorageMirror/sync()`` made.
    public struct Report: Hashable, Sendable {
        /// The number of cookies added to the jar.
        public var intoJar = 0
        /// The number of cookies deleted from the jar.
        public var outOfJar = 0
        /// The number of cookies added to the storage.
        public var intoStorage = 0
        /// The number of cookies deleted from the storage, including expired ones.
        public var outOfStorage = 0
        /// Why the jar rejected cookies of the storage. They are tried again when they change.
        public var refused: [CookieRejection] = []

        /// Creates an empty report.
        package init() {}

        /// Whether there was nothing to change.
        public var isEmpty: Bool { self == Report() }
    }

    /// The jar.
    public let jar: CookieJar
    /// The storage.
    public let storage: HTTPCookieStorage
    /// The configuration.
    package let configuration: Configuration
    private let clock: any Clock<Duration>
    let news: CookieNews
    let source = ChangeSource()
    /// The state of the reconciliation. The lock is held for a whole round, so that rounds never overlap.
    private let reconciliation: NIOLockedValueBox<CookieReconciliation>
    /// The last saved record.
    let recorded: NIOLockedValueBox<Set<UInt64>?>
    #if canImport(FoundationNetworking)
    /// The cookies that were recently removed from the storage.
    let departures = NIOLockedValueBox(CookieDepartures())
    #endif

    /// Creates a mirror. It does nothing until ``run()`` or ``sync()`` is called.
    ///
    /// - Parameters:
    ///   - jar: The jar.
    ///   - storage: Foundation's storage.
    ///   - configuration: The configuration.
    ///   - clock: The clock for the waits of ``run()``.
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
        let record = configuration.record?.load()
        recorded = NIOLockedValueBox(record)
        reconciliation = NIOLockedValueBox(
            CookieReconciliation(
                truth: configuration.truth.side,
                isLeftover: { cookie in
                    if !configuration.beginsFromJar { return false }
                    if configuration.keepsSessionCookies, cookie.expires == nil { return false }
                    return record?.contains(MirrorRecord.key(of: cookie)) ?? true
                },
                kept: { $0.inFoundation }
            )
        )
    }

    deinit { news.finish() }

    /// Keeps both sides in sync until the task is cancelled. Only one call may run at a time.
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

    /// Synchronizes both sides now. An observer of the storage must not call it while the mirror writes.
    @discardableResult
    public func sync() -> Report { reconciliation.withLockedValue { round(&$0) } }
}
