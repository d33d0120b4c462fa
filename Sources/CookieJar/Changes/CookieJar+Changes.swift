// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers

/// Following a jar.
extension CookieJar {
    /// What happens to the jar's cookies from now on; each call gives a sequence of its own.
    ///
    /// The buffer holds `CookieJarConfiguration.changeBufferCapacity` changes.
    public var changes: CookieChanges { follow(now: nil).changes }

    /// The cookies that are in the jar, and what happens to them from then on: between the two nothing is lost.
    public func follow(now: CookieTime? = nil) -> (cookies: [Cookie], changes: CookieChanges) {
        let now = now ?? clock()
        return state.withLockedValue { store in
            let feed = CookieChangeFeed(capacity: store.configuration.changeBufferCapacity)
            store.followers.append(feed)
            return (store.cookies(at: now), CookieChanges(feed))
        }
    }
}
