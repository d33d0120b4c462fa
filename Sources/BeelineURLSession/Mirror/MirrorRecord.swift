// SPDX-License-Identifier: Apache-2.0

package import CookieJar
import Foundation

/// Keeps the cookies that a storage with a file and a jar had in common at their last sync, for the next start of the program.
///
/// If only the storage has a cookie at that start, a recorded cookie was deleted from the jar, and any other cookie was set by
/// the program since.
package struct MirrorRecord: Sendable {
    /// Returns the saved record; nil if there is none.
    package var load: @Sendable () -> Set<UInt64>?
    /// Saves a record.
    package var save: @Sendable (Set<UInt64>) -> Void

    package init(load: @escaping @Sendable () -> Set<UInt64>?, save: @escaping @Sendable (Set<UInt64>) -> Void) {
        (self.load, self.save) = (load, save)
    }

    /// The key of a cookie in a record: a hash (FNV-1a) of its place, value and expiry that is the same in each process.
    package static func key(of cookie: Cookie) -> UInt64 {
        let place = CookiePlace(cookie)
        let expires = cookie.expires.map { "\($0.secondsSince1970.rounded(.down))" } ?? ""
        let parts = [
            place.name, Array(place.domain.utf8), [place.isHostOnly ? 1 : 0], Array(place.path.utf8),
            cookie.valueOctets, Array(expires.utf8),
        ]
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for octet in parts.joined(separator: [0]) { hash = (hash ^ UInt64(octet)) &* 0x100_0000_01b3 }
        return hash
    }

    #if canImport(FoundationNetworking)
    /// A record in the defaults of the program, because the file of `HTTPCookieStorage.shared` belongs to the program.
    ///
    /// - Parameter suite: The name of other defaults; nil for the standard ones.
    package static func inDefaults(_ suite: String? = nil) -> MirrorRecord {
        let name = "BeelineMirror"
        let defaults: @Sendable () -> UserDefaults = { suite.flatMap { UserDefaults(suiteName: $0) } ?? .standard }
        return MirrorRecord {
            guard let data = defaults().data(forKey: name) else { return nil }
            let octets = [UInt8](data)
            let starts = stride(from: 0, to: octets.count - octets.count % 8, by: 8)
            return Set(starts.map { start in octets[start..<start + 8].reduce(0) { $0 << 8 | UInt64($1) } })
        } save: { keys in
            let octets = keys.sorted().flatMap { key in
                (0..<8).map { UInt8(truncatingIfNeeded: key >> (56 - 8 * $0)) }
            }
            let defaults = defaults()
            defaults.set(Data(octets), forKey: name)
            // Otherwise Foundation on Linux writes them later or never.
            defaults.synchronize()
        }
    }
    #endif
}
