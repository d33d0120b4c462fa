// SPDX-License-Identifier: Apache-2.0

package import CookieJar

/// A cookie store as a platform has it: with completion handlers, an observer, and objects of its own for cookies.
///
/// Handlers may be called on any thread, late, in another order than that of the calls, and never.
package protocol CompletionStore: Sendable {
    /// What the platform calls a cookie.
    associatedtype Object: Sendable

    /// The cookie that an object is; nil for one that no jar could hold.
    func cookie(_ object: Object) -> Cookie?
    /// The object for a cookie; nil for one that the platform cannot hold.
    func object(_ cookie: Cookie) -> Object?
    /// What the platform keeps of a cookie.
    func kept(of cookie: Cookie) -> Cookie?

    /// Calls back with every object.
    func getAll(_ completion: @escaping @Sendable ([Object]) -> Void)
    /// Calls back when the object is stored.
    func set(_ object: Object, _ completion: @escaping @Sendable () -> Void)
    /// Calls back when the object is deleted.
    func delete(_ object: Object, _ completion: @escaping @Sendable () -> Void)
    /// Calls `changed` for changes from now on. The observer is kept by what is returned, which ends the observation.
    func observe(_ changed: @escaping @Sendable () -> Void) -> @Sendable () -> Void
}
