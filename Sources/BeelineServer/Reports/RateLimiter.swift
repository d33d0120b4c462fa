// SPDX-License-Identifier: Apache-2.0

import Names

/// Limits the questions of each client with a token bucket.
struct RateLimiter {
    private struct Bucket {
        var questions: Double
        /// Nanoseconds on the server's clock.
        var seen: Int64
    }

    private let perSecond: Double
    private let burst: Double
    private let maxClients: Int
    private var buckets: [IPAddress: Bucket] = [:]

    var count: Int { buckets.count }

    init(perSecond: Double, burst: Int, maxClients: Int) {
        self.perSecond = max(perSecond, 0.001)
        self.burst = Double(max(1, burst))
        self.maxClients = max(1, maxClients)
    }

    /// Takes a question from a client's bucket. Returns false if the bucket is empty.
    mutating func allows(_ client: IPAddress, now: Int64) -> Bool {
        change(client, now: now) { bucket in
            let isAllowed = bucket.questions >= 1
            if isAllowed { bucket.questions -= 1 }
            return isAllowed
        }
    }

    /// Takes further questions of a request that was allowed. The bucket may become negative, which delays the next requests.
    mutating func take(_ questions: Int, of client: IPAddress, now: Int64) {
        guard questions > 0 else { return }
        change(client, now: now) { $0.questions -= Double(questions) }
    }

    private mutating func change<Result>(_ client: IPAddress, now: Int64, body: (inout Bucket) -> Result) -> Result {
        let key = client.ofSubscriber
        var bucket = buckets[key] ?? Bucket(questions: burst, seen: now)
        bucket.questions = filled(bucket, now)
        bucket.seen = now
        let result = body(&bucket)
        if buckets[key] == nil, buckets.count >= maxClients { makeRoom(now) }
        buckets[key] = bucket
        return result
    }

    private func filled(_ bucket: Bucket, _ now: Int64) -> Double {
        min(burst, bucket.questions + Double(max(0, now - bucket.seen)) / 1e9 * perSecond)
    }

    /// Removes full buckets, which loses nothing. If too few are full, also removes the half that has been idle
    /// longest. Otherwise a client with many addresses could make each question cost a search.
    private mutating func makeRoom(_ now: Int64) {
        buckets = buckets.filter { filled($0.value, now) < burst }
        guard buckets.count > maxClients / 4 * 3 else { return }
        let quiet = buckets.sorted { $0.value.seen < $1.value.seen }.prefix(maxClients / 2 + 1)
        for (key, _) in quiet { buckets[key] = nil }
    }
}
