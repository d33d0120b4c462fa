// SPDX-License-Identifier: Apache-2.0

import Crypto

/// Keeps the first bytes of a body, and counts and hashes all of it.
struct BodyCollector {
    private var kept: [UInt8] = []
    private var size = 0
    private var hash = SHA256()
    private let limit: Int

    init(limit: Int = 1 << 20) {
        self.limit = limit
    }

    mutating func add(_ bytes: [UInt8]) {
        size += bytes.count
        kept += bytes.prefix(limit - kept.count)
        hash.update(data: bytes)
    }

    func finish(_ request: inout ReceivedRequest) {
        request.body = kept
        request.bodySize = size
        request.bodyHash = Array(hash.finalize())
    }
}
