// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
package import Names

/// Aliyun HTTPDNS version 1: `/{account}/d?host=…`, signed with MD5 if there is a secret.
///
/// OpenResty Edge and others use the same format.
package final class AliyunUpstream: BatchUpstream, ScheduledUpstream {
    package let name: String
    package let maxNames = 5
    /// The account's identifier in paths.
    private let path: String
    private let secret: String?
    private let account: AliyunAccount

    /// How long a signature is valid, in seconds.
    private static let validity: Int64 = 600

    /// An upstream for one account; without a secret, requests are not signed.
    package init(
        account: String,
        secret: String? = nil,
        service: AliyunService = AliyunService(),
        transport: any UpstreamTransport,
        clock: SigningClock = SigningClock()
    ) {
        path = PercentEncoding.encode(account, keeping: .unreserved)
        self.secret = secret
        self.account = AliyunAccount(account, secret: secret, service: service, transport: transport, clock: clock)
        name = "aliyun:\(self.account.label)"
    }

    package func answer(_ question: Question) async throws(UpstreamError) -> Answer {
        let host = question.host
        let name = try host.askedName()
        return try await ask("d", names: name, families: question.families, subnet: question.subnet) {
            (body) throws(UpstreamError) in
            try AliyunAnswer.single(body, host: host, families: question.families)
        }
    }

    /// Answers for several names; see ``BatchUpstream/answers(_:families:)``. The service supports IPv4 only here: for
    /// other families, returns no answers and sends no request.
    package func answers(_ hosts: [Host], families: Families) async throws(UpstreamError) -> [Host: Answer] {
        guard families == .v4 else { return [:] }
        return try await ask("resolve", names: try hosts.askedNames(), families: .v4, subnet: nil) {
            (body) throws(UpstreamError) in
            try AliyunAnswer.batch(body, hosts: hosts, families: .v4)
        }
    }

    package func reschedule() async -> Duration { await account.reschedule() }

    private func ask<Result>(
        _ call: String,
        names: String,
        families: Families,
        subnet: IPNetwork?,
        read: (JSONValue) throws(UpstreamError) -> Result
    ) async throws(UpstreamError) -> Result {
        try await account.ask(
            make: { (request) throws(UpstreamError) in
                var query = QueryString()
                query.add("host", names)
                if call == "d" { query.add("query", families.aliyunText) }
                query.add("ip", subnet?.first.description)
                if let secret = self.secret {
                    let expiry = self.account.clock.now + Self.validity
                    query.add("t", expiry)
                    query.add("s", Digests.signature(names, secret: secret, time: expiry))
                }
                request.target = "/\(self.path)/\(self.secret == nil ? "" : "sign_")\(call)?\(query.text)"
            },
            read: read
        )
    }
}

extension Families {
    /// The families as the value of Aliyun's parameters.
    var aliyunText: String {
        switch self {
        case .both: "4,6"
        case .v6: "6"
        default: "4"
        }
    }
}
