// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
package import Names

/// Baidu's HTTPDNS: `/v4/resolve?account_id=…&dn=…`, signed with MD5.
package final class BaiduUpstream: BatchUpstream {
    package let name: String
    package let maxNames = 10
    private let account: String
    private let secret: String
    private let service: UpstreamService
    private let clock: SigningClock

    /// How long a signature is valid, in seconds.
    private static let validity: Int64 = 300

    /// Baidu's public TLS endpoint. Its certificate is for its address.
    package static let publicEndpoint = Endpoint(IPAddress(v4: 0xb44c_4cc8), port: 443)

    /// An upstream for one account.
    package init(
        account: String,
        secret: String,
        at endpoints: [Endpoint] = [BaiduUpstream.publicEndpoint],
        isSecure: Bool = true,
        transport: any UpstreamTransport,
        clock: SigningClock = SigningClock()
    ) {
        self.account = account
        self.secret = secret
        self.clock = clock
        service = UpstreamService(
            isSecure ? .https : .http,
            endpoints: endpoints,
            orElse: Self.publicEndpoint,
            transport: transport
        )
        name = "baidu:\(account)@\(service.label)"
    }

    package func answer(_ question: Question) async throws(UpstreamError) -> Answer {
        try await ask(for: [question.host], families: question.families, subnet: question.subnet).only(question.host)
    }

    package func answers(_ hosts: [Host], families: Families) async throws(UpstreamError) -> [Host: Answer] {
        try await ask(for: hosts, families: families, subnet: nil)
    }

    private func ask(
        for hosts: [Host],
        families: Families,
        subnet: IPNetwork?
    ) async throws(UpstreamError) -> [Host: Answer] {
        let text = try hosts.askedNames()
        return try await service.askSigned(
            clock: clock,
            make: { (request) throws(UpstreamError) in
                let expiry = self.clock.now + Self.validity
                var query = QueryString()
                query.add("account_id", self.account)
                query.add("dn", text)
                query.add("t", expiry)
                query.add("sign", Digests.signature(text, secret: self.secret, time: expiry))
                query.add("type", families == .both ? "dual_stack" : families == .v6 ? "ipv6" : "ipv4")
                query.add("ip", subnet?.first.description)
                request.target = "/v4/resolve?\(query.text)"
            },
            read: { (reply) throws(UpstreamError) in
                let isAuthenticated = self.service.isAuthenticated
                return try Self.read(reply, hosts: hosts, families: families, isAuthenticated: isAuthenticated)
            }
        )
    }

    /// Parses `{"msg":"ok","data":{"a.example":{"ipv4":{"ip":[…],"ttl":300},"ipv6":{…}}},"clientip":…}`.
    static func read(
        _ reply: UpstreamReply,
        hosts: [Host],
        families: Families,
        isAuthenticated: Bool
    ) throws(UpstreamError) -> [Host: Answer] {
        let body = JSONValue(reply.body)
        if let message = body?["msg"]?.string, message != "ok" {
            // The service has no error codes; its messages name the signature, its expiry, the account or the name.
            let words = message.lowercased()
            let isAccount = words.contains("sign") || words.contains("account") || words.contains("expired")
            throw UpstreamError(
                isAccount ? .accountRefused : .questionRefused,
                "the service answers \"\(message.prefix(80))\""
            )
        }
        try reply.requireSuccess(hasAccount: isAuthenticated)
        guard let body, let data = body["data"]?.object else { throw .unknownForm }
        let client = body["clientip"]?.string.flatMap { IPAddress($0) }
        var answers: [Host: Answer] = [:]
        for (name, entry) in data {
            let host = try hosts.called(name)
            var answer = Answer(clientAddress: client)
            for family in families.members {
                guard let node = entry[family == .v4 ? "ipv4" : "ipv6"] else { continue }
                answer[family] = try Answer.Records(node["ip"], family: family, ttl: node["ttl"]?.seconds)
            }
            answers[host] = answer
        }
        return answers
    }
}
