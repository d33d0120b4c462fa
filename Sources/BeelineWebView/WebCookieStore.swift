// SPDX-License-Identifier: Apache-2.0

public import CookieJar

/// The cookie store of a browser or of web views: one profile, separate from all others.
///
/// Conform to this protocol to use a store with this library. Calls may overlap. A call that the store does not answer must end
/// when its task is cancelled. Callers receive the errors of the store unchanged.
public protocol WebCookieStore: Sendable {
    /// All cookies of the store, including HttpOnly cookies.
    ///
    /// A store that sees only the cookies of the current page must return the last known state of all others: a missing cookie
    /// counts as deleted.
    func cookies() async throws -> [Cookie]

    /// Sets a cookie. It replaces the cookie with the same name, domain, path and partition. Returns when the store confirms
    /// it.
    func set(_ cookie: Cookie) async throws

    /// Deletes the cookie with the same name, domain, path and partition. A missing cookie is not an error.
    func delete(_ cookie: Cookie) async throws

    /// The version of a cookie that ``cookies()`` returns after ``set(_:)``, without the parts that the store cannot hold, such
    /// as fractions of a second or an unsupported attribute. `nil` if the store cannot hold the cookie. Default: the cookie
    /// itself.
    func kept(of cookie: Cookie) -> Cookie?

    /// Yields an element after cookies may have changed. One element may stand for several changes. Each call returns a new
    /// stream that starts at that moment. A store without notifications returns a finished stream; it is then checked at a
    /// regular interval.
    var changes: AsyncStream<Void> { get }
}

extension WebCookieStore {
    /// Returns the cookie unchanged, for a store that keeps all attributes.
    public func kept(of cookie: Cookie) -> Cookie? { cookie }

    /// A finished stream, for a store without notifications.
    public var changes: AsyncStream<Void> { AsyncStream { $0.finish() } }
}
