// SPDX-License-Identifier: Apache-2.0

import Names

/// The answer of Aliyun's scheduling call, `/{account}/ss`: the nearest addresses of the service.
///
/// The answer can also say that the service is disabled. This holds only until the next answer.
struct AliyunSchedule: Hashable, Sendable {
    /// The endpoints of the service.
    var endpoints: [Endpoint]
    /// Whether the service is enabled.
    var isEnabled: Bool

    /// The time between calls: `interval` after a success, `retry` after a failure, doubled by each further failure up
    /// to `longestRetry`.
    static let interval = Duration.seconds(8 * 3_600)
    static let retry = Duration.seconds(30)
    static let longestRetry = Duration.seconds(3_600)
    /// The maximum number of addresses used from one answer and family.
    static let maxAddresses = 16

    /// The request target of the call.
    static func target(account: String, secret: String?, region: String, nonce: String, time: Int64) -> String {
        var query = QueryString()
        query.add("region", region)
        if let secret {
            query.add("n", nonce)
            query.add("t", time)
            // The current documentation specifies an HMAC; the service's own C client sends this MD5, and the service
            // accepts it.
            query.add("s", Digests.signature(nonce, secret: secret, time: time))
        }
        return "/\(PercentEncoding.encode(account, keeping: .unreserved))/ss?\(query.text)"
    }

    /// Parses an answer: `{"service_ip":[…],"service_ipv6":[…],"service_ip_port":[…],"service_status":"disable"}`.
    ///
    /// The ports in the answer are for plain HTTP; TLS uses `securePort`.
    init(_ body: JSONValue, isSecure: Bool, securePort: UInt16 = 443) throws(UpstreamError) {
        guard let v4 = body["service_ip"]?.array else { throw .unknownForm }
        var endpoints: [Endpoint] = []
        for (list, ports, family) in [
            (v4, body["service_ip_port"], IPAddress.Family.v4),
            (body["service_ipv6"]?.array ?? [], body["service_ipv6_port"], .v6),
        ] {
            let ports = isSecure ? [] : ports?.array ?? []
            for (index, text) in list.prefix(Self.maxAddresses).enumerated() {
                guard let address = text.string.flatMap({ IPAddress($0) }), address.family == family else {
                    throw .unknownForm
                }
                let port = index < ports.count ? ports[index].integer.flatMap { UInt16(exactly: $0) } : nil
                endpoints.append(Endpoint(address, port: port ?? (isSecure ? securePort : 80)))
            }
        }
        self.endpoints = endpoints
        isEnabled = body["service_status"]?.string != "disable"
    }
}
