// SPDX-License-Identifier: Apache-2.0

/// Somebody who is told of a jar's changes as they are made, and misses none: a stream's buffer, or a store on disk.
package protocol CookieFollower: AnyObject, Sendable {
    /// Takes note of changes, in their order. It is called while the jar is locked: it must be quick and must not use the
    /// jar.
    func note(_ changes: [CookieChange])

    /// Tells the follower that the jar is gone, or that nobody wants to hear of it any more.
    func finish()

    /// Whether it wants to be told nothing more; the jar then forgets it.
    var isFinished: Bool { get }
}
