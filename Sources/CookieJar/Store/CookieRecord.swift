// SPDX-License-Identifier: Apache-2.0

import Atomics

/// What a look-up reads of a stored cookie, packed: two to a line of the processor's cache. Its texts, and what only order
/// depends on, are in other parts of the ``CookieBucket``.
struct CookieRecord {
    /// What a cookie says yes or no to.
    struct Flags: OptionSet {
        let rawValue: UInt16
        static let secure = Flags(rawValue: 1)
        static let httpOnly = Flags(rawValue: 2)
        static let hostOnly = Flags(rawValue: 4)
        /// Set by this session (``CookieJar/clearSession()``).
        static let ofThisSession = Flags(rawValue: 8)
        /// One bit for each ``Cookie/SameSite``, so that several can be excluded at once.
        static let firstSameSite: UInt16 = 16

        init(rawValue: UInt16) { self.rawValue = rawValue }

        init(_ sameSite: Cookie.SameSite) { rawValue = Self.firstSameSite << UInt16(sameSite.rawValue) }

        /// 1 where none of these flags is one of `others`, else 0.
        @inline(__always)
        func are(notIn others: Flags) -> Int { rawValue & others.rawValue == 0 ? 1 : 0 }

        var sameSite: Cookie.SameSite {
            Cookie.SameSite(rawValue: UInt8((rawValue / Self.firstSameSite).trailingZeroBitCount)) ?? .unspecified
        }
    }

    /// An expiry that stands for none.
    static let session = Int64.max

    /// The rank of a cookie that came after one created later, by import for instance: only its birth tells its order.
    static let unranked: UInt32 = 0

    /// Last access in seconds since 1970. It is the first field because readers write it, atomically: ``access(_:at:)``.
    var accessed: UInt32
    /// The order of creation among the ranked cookies of a store, or ``unranked``.
    var rank: UInt32
    /// Expiry in microseconds, or ``session``.
    var expires: Int64
    /// The hash of the path (``PathPrefixes``).
    var pathHash: UInt32 = 0
    /// Where `name=value` begins in the block. The path stands before it.
    var text: UInt32 = 0
    var nameLength: UInt16 = 0
    /// Octets of `name=value`; a nameless cookie is its value.
    var pairLength: UInt16 = 0
    var pathLength: UInt16 = 0
    var flags: Flags

    /// Less for the cookie that comes first in the Cookie header: that of the longer path, or of two ranked ones the earlier.
    var order: UInt64 { UInt64(UInt16.max - pathLength) << 32 | UInt64(rank) }
    /// Whether an ``order`` is that of a ranked cookie.
    static func isRanked(_ order: UInt64) -> Bool { UInt32(truncatingIfNeeded: order) != unranked }

    /// Octets of the name and the equals sign behind it.
    private var valueStart: Int { nameLength == 0 ? 0 : Int(nameLength) + 1 }
    var valueLength: Int {
        get { Int(pairLength) - valueStart }
        set { pairLength = UInt16(valueStart + newValue) }
    }
    /// Octets of all texts.
    var textLength: Int { Int(pathLength) + Int(pairLength) }
    /// Where the path begins in the block.
    var path: Int { Int(text) - Int(pathLength) }
    /// Where the value begins in the block.
    var value: Int { Int(text) + valueStart }

    /// Whether it has expired.
    func isExpired(at now: Int64) -> Bool { expires <= now }

    /// A time in the seconds that ``accessed`` counts, from 1970 to 2106.
    static func seconds(_ time: CookieTime) -> UInt32 { UInt32(clamping: time.microseconds / 1_000_000) }

    /// Notes that the cookie at `record` was sent (§5.8.3 step 5). Several readers may do so at once.
    ///
    /// It is kept to the second: a cookie that each request carries is not written by each request, so that readers on
    /// many processors do not fight for its memory.
    @inline(__always)
    static func access(_ record: UnsafeMutablePointer<CookieRecord>, at seconds: UInt32) {
        let accessed = UnsafeAtomic<UInt32>(
            at: UnsafeMutableRawPointer(record).assumingMemoryBound(to: UnsafeAtomic<UInt32>.Storage.self)
        )
        if accessed.load(ordering: .relaxed) != seconds { accessed.store(seconds, ordering: .relaxed) }
    }
}

/// When a cookie came, by which those of one path length are ordered. Ranks say the same without a second look.
struct CookieBirth {
    /// Creation in microseconds.
    var created: Int64
    /// The order of storing, for cookies created in one microsecond.
    var sequence: UInt64

    @inline(__always)
    func precedes(_ other: CookieBirth) -> Bool {
        // Without branches: which cookie of two is the earlier one cannot be foreseen.
        let sequence = sequence < other.sequence ? 1 : 0
        return (created < other.created ? 1 : created == other.created ? sequence : 0) != 0
    }
}
