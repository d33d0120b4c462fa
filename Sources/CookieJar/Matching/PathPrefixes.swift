// SPDX-License-Identifier: Apache-2.0

/// The paths of cookies that a request path path-matches (RFC 6265bis §5.1.4), as a hash for each length.
///
/// They are the beginnings of the request path that end with a slash, before one, or with the path. One pass over the
/// request path finds them all, and then each of many cookies is matched by one comparison. Equal hashes are not yet equal
/// paths: ``PathMatch`` has the last word.
struct PathPrefixes {
    /// Longer paths of cookies are compared octet by octet.
    static let maximumLength = 255

    private let count: Int
    private let hashes: UnsafeMutablePointer<UInt32>

    /// Calls `body` with the prefixes of a request path.
    @inline(__always)
    static func with<Result>(_ path: Octets, _ body: (PathPrefixes) -> Result) -> Result {
        withUnsafeTemporaryAllocation(of: UInt32.self, capacity: maximumLength + 1) { hashes in
            guard let base = hashes.baseAddress else { preconditionFailure("no stack memory") }
            let count = min(path.count, maximumLength)
            var hash = start
            // Place 0 is for the paths that are too long for this.
            base[0] = long
            for index in 0..<count {
                hash = step(hash, path[index])
                let isWhole = index + 1 == path.count || path[index] == .slash || path[index + 1] == .slash
                base[index + 1] = isWhole ? finish(hash) : none
            }
            return body(PathPrefixes(count: count, hashes: base))
        }
    }

    /// 1 where a cookie's path may be one of them, else 0; never 0 where it is.
    @inline(__always)
    func mayContain(_ record: borrowing CookieRecord) -> Int {
        let length = Int(record.pathLength)
        return hashes[length <= count ? length : 0] == record.pathHash ? 1 : 0
    }

    /// The hash of a cookie's path.
    static func hash(_ path: Octets) -> UInt32 {
        path.count > maximumLength ? long : finish(path.reduce(start, step))
    }

    private static let start: UInt32 = 0x811c_9dc5
    /// What stands for a path longer than `maximumLength`.
    private static let long: UInt32 = 2
    /// What no path hashes to.
    private static let none: UInt32 = 0

    @inline(__always)
    private static func step(_ hash: UInt32, _ octet: UInt8) -> UInt32 { (hash ^ UInt32(octet)) &* 0x0100_0193 }

    @inline(__always)
    private static func finish(_ hash: UInt32) -> UInt32 { hash | 1 }
}
