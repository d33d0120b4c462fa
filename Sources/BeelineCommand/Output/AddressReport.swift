// SPDX-License-Identifier: Apache-2.0

import Beeline

/// An address in the JSON of `resolve` and `doctor`.
struct AddressReport: Encodable {
    var address: String
    /// In seconds; null if the upstream gives no TTL or it does not expire.
    @OrNull var ttl: Int64?

    init(_ address: IPAddress, _ ttl: Duration?) {
        self.address = "\(address)"
        self.ttl = ttl?.wholeSeconds
    }
}
