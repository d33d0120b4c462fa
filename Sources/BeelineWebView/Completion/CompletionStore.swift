// SPDX-License-Identifier: Apache-2.0

package import CookieJar

/// A platform's cookie store: with completion handlers, an observer, and its own cookie objects.
///
/// Handlers may be called on any thread, late, in any order, or never.
package protocol CompletionStore: Sendable {
    /// The platform's cookie type.
    associatedtype Object: Sendable

    /// The cookie of an object; `nil` if a jar cannot hold it.
    func cookie(_ object: Object) -> Cookie?
    /// The object of a cookie; `nil` if the platform cannot hold it.
    func object(_ cookie: Cookie) -> Object?
    /// The cookie with only the attributes that the platform keeps; `nil` if it cannot hold the cookie.
    func kept(of cookie: Cookie) -> Cookie?

    /// Calls back with all objects.
    func getAll(_ completion: @escaping @Sendable ([Object]) -> Void)
    /// Calls back when the object is stored.
    func set(_ object: Object, _ completion: @escaping @Sendable () -> Void)
    /// Calls back when the object is deleted.
    func delete(_ object: Object, _ completion: @escaping @Sendable () -> Void)
    /// Calls `changed` for each later change. The returned closure retains the observer; call it to end the observation.
    func observe(_ changed: @escaping @Sendable () -> Void) -> @Sendable () -> Void
}
