// SPDX-License-Identifier: Apache-2.0

import HTTPDNS
import Names

extension AliyunDialect {
    /// The accepted difference between a signature's time and the server's clock, in seconds. Aliyun's documents mention clocks
    /// that are wrong by 150 s, and times up to 300 s ahead.
    private static let signatureTimes: ClosedRange<Int64> = -150...450

    /// Handles `/{account}/ss`: the service's endpoints. Aliyun's mobile SDKs never sign it, the other SDKs always do.
    func handleSchedule(_ request: ServerRequest, account: String) -> RequestHandling {
        do throws(Refusal) {
            try checkSchedule(account, request.fields)
        } catch {
            return .reply(Self.refusal(error, form: .aliyun, account: account))
        }
        let announced = router.configuration.announced
        // If no endpoints are configured, announce the endpoint that received the request.
        let endpoints = announced.isEmpty ? [request.local].compactMap(\.self) : announced
        var members: [String] = []
        for (family, name) in [(IPAddress.Family.v4, "service_ip"), (.v6, "service_ipv6")] {
            let places = endpoints.filter { $0.address.family == family }
            // Clients expect the IPv4 list even if it is empty.
            guard family == .v4 || !places.isEmpty else { continue }
            members.append("\"\(name)\":[\(places.map { "\"\($0.address)\"" }.joined(separator: ","))]")
            members.append("\"\(name)_port\":[\(places.map { "\($0.port)" }.joined(separator: ","))]")
        }
        var reply = ServerReply.json("{\(members.joined(separator: ","))}")
        reply.form = .aliyun
        reply.account = account
        reply.outcome = "NOERROR"
        return .reply(reply)
    }

    private func checkSchedule(_ account: String, _ fields: [String: String]) throws(Refusal) {
        guard let known = router.accounts[account] else {
            guard router.isOpen, fields["s"] == nil else { throw Refusal("InvalidAccount") }
            return
        }
        guard let signature = fields["s"] else { return }
        guard let nonce = fields["n"], let time = fields["t"].flatMap({ Int64($0) }) else {
            throw Refusal("MissingArgument", 400)
        }
        let (distance, overflow) = time.subtractingReportingOverflow(router.clock())
        guard !overflow, Self.signatureTimes.contains(distance) else { throw Refusal("SignatureExpired") }
        let expected = Digests.signature(nonce, secret: known.secret, time: time)
        guard ConstantTime.equal(expected, signature.lowercased()) else {
            throw Refusal("InvalidSignature")
        }
    }
}
