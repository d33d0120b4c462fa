// SPDX-License-Identifier: Apache-2.0

import Names

extension Answer.Records {
    /// Parses a list of addresses. An empty list is a denial without a TTL, so that the next upstream is asked.
    init(_ list: JSONValue?, family: IPAddress.Family, ttl: Duration?) throws(UpstreamError) {
        var addresses: [IPAddress] = []
        for text in list?.elements ?? [] where text != .null && text.string != "" {
            guard let address = text.string.flatMap({ IPAddress($0) }), address.family == family else {
                throw UpstreamError(.malformedAnswer, "an entry of the answer is not an \(Families(family)) address")
            }
            addresses.append(address)
        }
        self = addresses.isEmpty ? .absent(.noRecord, ttl: nil) : .addresses(addresses, ttl: ttl)
    }
}
