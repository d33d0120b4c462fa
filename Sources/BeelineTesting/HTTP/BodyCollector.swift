// SPDX-License-Identifier: Apache-2.0

import Crypto

/// Keeps the first bytes of a body, and counts and hashes all of it.
struct BodyCollector {
    /// The number of bytes that are kept by default: 1 MiB.
    static let keptBytes = 1 << 20

    private var kept: [UInt8] = []
    private var size = 0
    private var hash = SHA256()
    private let limit: Int

    init(limit: Int = keptBytes) {
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
