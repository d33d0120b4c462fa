// SPDX-License-Identifier: Apache-2.0

import Names

/// The cookie store of RFC 6265bis §5.7, without clock and lock: each operation is told the time.
///
/// `CookieStore+Storage.swift` has the storage model, `CookieStore+Retrieval.swift` the retrieval model,
/// `CookieStore+Eviction.swift` the order of eviction. ``CookieJar`` makes it safe for many threads.
struct CookieStore: ~Copyable {
    let configuration: CookieJarConfiguration
    var table: CookieTable
    /// How many cookies there are, expired ones included.
    var count = 0
    /// How many of them are Partitioned: while none is, no look-up asks for partitions.
    var partitionedCount = 0
    /// The sequence number of the next cookie.
    var nextSequence: UInt64 = 1
    /// When the last ranked cookie was created, in microseconds (``CookieRecord/rank``).
    var latestRanked = Int64.min
    /// Those who follow the changes.
    var feeds: [any CookieFollower] = []
    /// Who makes the changes of the operation that runs.
    var source: ChangeSource?
    /// When the operation that runs takes place, if anybody follows.
    var time = CookieTime.distantPast
    /// What the operation that runs has changed, if anybody follows.
    var changes: [CookieChange] = []

    init(configuration: CookieJarConfiguration, seed: UInt64) {
        self.configuration = configuration
        table = CookieTable(seed: seed)
    }

    /// The cookies that have not expired, in no order.
    func cookies(at now: CookieTime) -> [Cookie] {
        var cookies: [Cookie] = []
        cookies.reserveCapacity(count)
        for case let bucket? in table.buckets {
            for index in 0..<bucket.count where !bucket.records[index].isExpired(at: now.microseconds) {
                cookies.append(Cookie(at: index, of: bucket))
            }
        }
        return cookies
    }

    /// Notes what happened to the cookie at a place, if anybody listens.
    mutating func note(_ kind: CookieChange.Kind, _ index: Int, of number: Int) {
        guard !feeds.isEmpty, let bucket = table.buckets[number] else { return }
        let cookie = Cookie(at: index, of: bucket)
        changes.append(CookieChange(kind: kind, cookie: cookie, time: time, source: source))
    }

    /// Takes out the cookie at a place.
    mutating func remove(_ index: Int, of number: Int, cause: CookieChange.Cause) {
        note(.removed(cause), index, of: number)
        if let bucket = table.buckets[number], !bucket.partition.isEmpty { partitionedCount -= 1 }
        _ = table.withBucket(number) { bucket, _ in bucket.remove(at: index) }
        count -= 1
    }

    /// Tells those who follow what was noted. Under the jar's lock, so that all hear of changes in their order; it does not
    /// wait for any of them.
    mutating func publishChanges() {
        guard !changes.isEmpty else { return }
        feeds.removeAll { $0.isFinished }
        for feed in feeds { feed.note(changes) }
        changes.removeAll()
    }

    /// Takes out the cookies for which `isWanted` is true, and says how many they were.
    mutating func remove(cause: CookieChange.Cause, where isWanted: (CookieBucket, Int) -> Bool) -> Int {
        let before = count
        for number in table.buckets.indices {
            guard let bucket = table.buckets[number] else { continue }
            for index in (0..<bucket.count).reversed() where isWanted(bucket, index) {
                remove(index, of: number, cause: cause)
            }
            table.removeIfEmpty(number)
        }
        return before - count
    }
}

extension Cookie {
    /// The cookie at a place of a bucket.
    init(at index: Int, of bucket: CookieBucket) {
        let record = bucket.records[index]
        self.init(
            nameOctets: Array(bucket.name(record)),
            valueOctets: Array(bucket.value(record)),
            domain: String(decoding: bucket.domain, as: UTF8.self),
            isHostOnly: record.flags.contains(.hostOnly),
            path: String(decoding: bucket.path(record), as: UTF8.self),
            expires: record.expires == CookieRecord.session ? nil : CookieTime(microseconds: record.expires),
            created: CookieTime(microseconds: bucket.births[index].created),
            lastAccessed: CookieTime(microseconds: Int64(record.accessed) * 1_000_000),
            isSecure: record.flags.contains(.secure),
            isHTTPOnly: record.flags.contains(.httpOnly),
            sameSite: record.flags.sameSite,
            partition: bucket.partition.isEmpty ? nil : Site(String(decoding: bucket.partition, as: UTF8.self))
        )
    }
}
