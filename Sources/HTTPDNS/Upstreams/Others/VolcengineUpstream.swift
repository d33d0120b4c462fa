// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
package import Names

/// Volcengine's HTTPDNS: `/resolve?domain=…&account_id=…`, signed with MD5.
///
/// The service's documentation has no readable sample answer. Replies are accepted in the formats of similar services:
/// a list of entries with a name, addresses and a TTL.
package final class VolcengineUpstream: Upstream {
    package let name: String
    package let answersOneFamily = true
    private let account: String
    private let secret: String
    private let service: UpstreamService
    private let clock: SigningClock

    /// How long a signature is valid, in milliseconds.
    private static let validity: Int64 = 3_600_000

    /// An upstream for one account.
    ///
    /// - Parameter host: The service's name, which its certificate is for.
    /// - Throws: ``UpstreamError`` with code `misconfigured` if there is no endpoint.
    package init(
        account: String,
        secret: String,
        host: Host? = try? Host("httpdns.volcengineapi.com"),
        at endpoints: [Endpoint],
        isSecure: Bool = true,
        transport: any UpstreamTransport,
        clock: SigningClock = SigningClock()
    ) throws(UpstreamError) {
        guard let first = endpoints.first else {
            throw UpstreamError(.misconfigured, "the addresses of the upstream are missing")
        }
        self.account = account
        self.secret = secret
        self.clock = clock
        service = UpstreamService(
            isSecure ? .https : .http,
            names: isSecure ? [host].compactMap { $0 } : [],
            endpoints: endpoints,
            orElse: first,
            transport: transport
        )
        name = "volcengine:\(account)@\(service.label)"
    }

    package func answer(_ question: Question) async throws(UpstreamError) -> Answer {
        var answer = Answer()
        for family in question.families.members {
            answer[family] = try await records(for: question.host, family: family, subnet: question.subnet)
        }
        return answer
    }

    /// The signature of a question. `values` are its values and the secret; they are sorted by octets, empty ones
    /// included, and joined by `_`.
    static func signature(_ values: [String]) -> String {
        Digests.md5(values.sorted { Array($0.utf8).lexicographicallyPrecedes(Array($1.utf8)) }.joined(separator: "_"))
    }

    private func records(
        for host: Host,
        family: IPAddress.Family,
        subnet: IPNetwork?
    ) async throws(UpstreamError) -> Answer.Records {
        let name = try host.askedName()
        let type = family == .v4 ? "" : "AAAA"
        let address = subnet?.first.description ?? ""
        return try await service.askSigned(
            clock: clock,
            make: { (request) throws(UpstreamError) in
                let expiry = String(self.clock.now * 1_000 + Self.validity)
                var query = QueryString()
                query.add("domain", name)
                query.add("account_id", self.account)
                query.add("sign", Self.signature([self.secret, expiry, self.account, name, address, type]))
                query.add("timestamp", expiry)
                query.add("type", type)
                query.add("ip", address)
                request.target = "/resolve?\(query.text)"
            },
            read: { (reply) throws(UpstreamError) in
                try reply.requireSuccess(hasAccount: self.service.isAuthenticated)
                return try Self.read(JSONValue(reply.body), host: host, family: family)
            }
        )
    }

    /// Finds the entries of the name and their addresses.
    static func read(
        _ body: JSONValue?,
        host: Host,
        family: IPAddress.Family
    ) throws(UpstreamError) -> Answer.Records {
        guard let body else { throw .unknownForm }
        let lists = [body["dns"], body["data"], body["results"], body["answers"], body].compactMap { $0?.array }
        guard let entries = lists.first else { throw .unknownForm }
        var addresses: [JSONValue] = []
        var ttl: JSONValue?
        for entry in entries {
            guard let name = (entry["domain"] ?? entry["host"] ?? entry["dn"])?.string else { throw .unknownForm }
            _ = try [host].called(name)
            // An entry may be for the other family.
            let texts = (entry["ips"] ?? entry["ip"] ?? .array([])).elements
            let ours = texts.filter { $0.string.flatMap { IPAddress($0) }.map { $0.family == family } ?? true }
            guard !ours.isEmpty else { continue }
            addresses += ours
            ttl = ttl ?? entry["ttl"]
        }
        return try Answer.Records(.array(addresses), family: family, ttl: ttl?.seconds)
    }
}
