// SPDX-License-Identifier: Apache-2.0

import Names

/// DNSPod's answer to `/conf`: `log:1|domain:0|ip:1.1.1.1;2.2.2.2|ttl:60`.
struct DNSPodEntries: Hashable {
    /// Addresses of the service, at least one.
    var addresses: [IPAddress]
    /// How long the addresses are valid.
    var lifetime: Duration

    /// The maximum number of addresses used from one answer.
    static let maxAddresses = 16

    init(_ text: String) throws(UpstreamError) {
        var fields: [Substring: Substring] = [:]
        for field in text.split(separator: "|") {
            guard let colon = field.firstIndex(of: ":") else { continue }
            fields[field[..<colon]] = field[field.index(after: colon)...]
        }
        var addresses: [IPAddress] = []
        for item in (fields["ip"] ?? "").split(separator: ";").prefix(Self.maxAddresses) {
            guard let address = IPAddress(String(item)), address.family == .v4 else {
                throw UpstreamError(.malformedAnswer, "\"\(item.prefix(40))\" in the address list is not an address")
            }
            addresses.append(address)
        }
        guard !addresses.isEmpty else { throw UpstreamError(.malformedAnswer, "the reply lists no addresses") }
        self.addresses = addresses
        // The value is in minutes.
        let minutes = fields["ttl"].flatMap { Int64($0.trimmingSpace) } ?? 60
        lifetime = .seconds((1...1_440).contains(minutes) ? minutes * 60 : 3_600)
    }
}
