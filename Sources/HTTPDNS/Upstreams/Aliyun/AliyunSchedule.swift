// SPDX-License-Identifier: Apache-2.0

import Names

/// Aliyun's scheduling call, `/{account}/ss`: which addresses of the service are near.
///
/// The answer can also say that the service is off. That is believed until the next answer, never for good.
struct AliyunSchedule: Hashable, Sendable {
    /// Where the service is.
    var endpoints: [Endpoint]
    /// Whether the service is on.
    var isEnabled: Bool

    /// How often the call is made, after a success and after a failure; failures double it.
    static let interval = Duration.seconds(8 * 3_600)
    static let retry = Duration.seconds(30)
    static let longestRetry = Duration.seconds(3_600)
    /// Addresses that are taken from one answer.
    static let maxAddresses = 16

    /// The call's target.
    static func target(_ account: String, _ secret: String?, region: String, nonce: String, time: Int64) -> String {
        var query = QueryString()
        query.add("region", region)
        if let secret {
            query.add("n", nonce)
            query.add("t", time)
            // The current document speaks of an HMAC here; the service's own C program sends this, and it works.
            query.add("s", Digests.md5("\(nonce)-\(secret)-\(time)"))
        }
        return "/\(account)/ss?\(query.text)"
    }

    /// Reads an answer: `{"service_ip":[…],"service_ipv6":[…],"service_ip_port":[…],"service_status":"disable"}`.
    ///
    /// The ports are those of HTTP in the clear; TLS stays at `securePort`.
    init(_ body: JSONValue, isSecure: Bool, securePort: UInt16 = 443) throws(UpstreamError) {
        guard let v4 = body["service_ip"]?.array else { throw AliyunAnswer.malformed }
        var endpoints: [Endpoint] = []
        for (list, ports, family) in [
            (v4, body["service_ip_port"], IPAddress.Family.v4),
            (body["service_ipv6"]?.array ?? [], body["service_ipv6_port"], .v6),
        ] {
            let ports = isSecure ? [] : ports?.array ?? []
            for (index, text) in list.prefix(Self.maxAddresses).enumerated() {
                guard let address = text.string.flatMap({ IPAddress($0) }), address.family == family else {
                    throw AliyunAnswer.malformed
                }
                let port = index < ports.count ? ports[index].integer.flatMap { UInt16(exactly: $0) } : nil
                endpoints.append(Endpoint(address, port: port ?? (isSecure ? securePort : 80)))
            }
        }
        self.endpoints = endpoints
        isEnabled = body["service_status"]?.string != "disable"
    }
}
