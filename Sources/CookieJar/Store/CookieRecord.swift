// SPDX-License-Identifier: Apache-2.0

import Atomics

/// One stored cookie, packed: 48 octets, and its texts in the ``CookieBucket`` that it is in.
struct CookieRecord {
    /// What a cookie says yes or no to.
    struct Flags: OptionSet {
        let rawValue: UInt16
        static let secure = Flags(rawValue: 1)
        static let httpOnly = Flags(rawValue: 2)
        static let hostOnly = Flags(rawValue: 4)
        /// Set by this session (``CookieJar/clearSession()``).
        static let ofThisSession = Flags(rawValue: 8)
        /// The two bits of ``Cookie/SameSite``.
        static let sameSiteShift: UInt16 = 4

        init(rawValue: UInt16) { self.rawValue = rawValue }

        init(_ sameSite: Cookie.SameSite) { rawValue = UInt16(sameSite.rawValue) << Self.sameSiteShift }

        var sameSite: Cookie.SameSite {
            Cookie.SameSite(rawValue: UInt8(truncatingIfNeeded: rawValue >> Self.sameSiteShift & 3)) ?? .unspecified
        }
    }

    /// An expiry that stands for none.
    static let session = Int64.max

    /// Last access in microseconds. It is the first field because readers write it, atomically: ``access(_:at:)``.
    var accessed: Int64
    /// Creation in microseconds.
    var created: Int64
    /// The order of storing, for cookies created in one microsecond.
    var sequence: UInt64
    /// Expiry in microseconds, or ``session``.
    var expires: Int64
    /// Where `name=value` begins in the texts.
    var text: UInt32 = 0
    /// Where the path begins in the texts.
    var path: UInt32 = 0
    var nameLength: UInt16 = 0
    var valueLength: UInt16 = 0
    var pathLength: UInt16 = 0
    var flags: Flags

    /// Octets of `name=value`; a nameless cookie is its value.
    var pairLength: Int { nameLength == 0 ? Int(valueLength) : Int(nameLength) + 1 + Int(valueLength) }
    /// Where the value begins in the texts.
    var value: Int { Int(text) + (nameLength == 0 ? 0 : Int(nameLength) + 1) }

    /// Whether it has expired.
    func isExpired(at now: Int64) -> Bool { expires <= now }

    /// The order of the Cookie header (RFC 6265bis §5.8.3 step 4): longer paths first, then earlier creation.
    @inline(__always)
    func precedes(_ other: borrowing CookieRecord) -> Bool {
        if pathLength != other.pathLength { return pathLength > other.pathLength }
        if created != other.created { return created < other.created }
        return sequence < other.sequence
    }

    /// Notes that the cookie at `record` was sent (§5.8.3 step 5). Several readers may do so at once.
    ///
    /// It is kept to the second: a cookie that each request carries is not written by each request, so that readers on
    /// many processors do not fight for its memory.
    @inline(__always)
    static func access(_ record: UnsafeMutablePointer<CookieRecord>, at now: Int64) {
        let accessed = UnsafeAtomic<Int64>(
            at: UnsafeMutableRawPointer(record).assumingMemoryBound(to: UnsafeAtomic<Int64>.Storage.self)
        )
        if (now &- accessed.load(ordering: .relaxed)).magnitude >= 1_000_000 {
            accessed.store(now, ordering: .relaxed)
        }
    }
}
