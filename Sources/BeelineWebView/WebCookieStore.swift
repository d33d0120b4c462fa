// SPDX-License-Identifier: Apache-2.0

public import CookieJar

/// The cookie store of a browser or of web views: one profile, which shares nothing with another.
///
/// Who conforms makes it available to what this library does with stores. Calls may overlap; a call that the store does not
/// answer must end when its task is cancelled. What a store throws is handed to the caller as it is.
public protocol WebCookieStore: Sendable {
    /// Every cookie of the store, HttpOnly ones too.
    ///
    /// A store that shows only the cookies of the page that it is on gives the others as it last saw them: a cookie that is
    /// not among these counts as deleted.
    func cookies() async throws -> [Cookie]

    /// Puts a cookie into the store, in the place of the one of its name, domain, path and partition. It returns when the
    /// store says that it has it.
    func set(_ cookie: Cookie) async throws

    /// Deletes the cookie of this cookie's name, domain, path and partition; there may be none.
    func delete(_ cookie: Cookie) async throws

    /// What ``cookies()`` shows of a cookie that was set: the cookie less what the store has no room for, as fractions of a
    /// second, or an attribute that is not there. Nil where the store cannot hold it at all. Default: the cookie itself.
    func kept(of cookie: Cookie) -> Cookie?

    /// One element whenever a cookie may have changed since the last one; several changes may be one element. Each call
    /// gives a stream of its own, from that moment on. A store that hears of nothing gives a stream that has ended: it is
    /// then looked at from time to time.
    var changes: AsyncStream<Void> { get }
}

extension WebCookieStore {
    /// The cookie itself: a store that keeps all of it.
    public func kept(of cookie: Cookie) -> Cookie? { cookie }

    /// None: a store that hears of no changes.
    public var changes: AsyncStream<Void> { AsyncStream { $0.finish() } }
}
