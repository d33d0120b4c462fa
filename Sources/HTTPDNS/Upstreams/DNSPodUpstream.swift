// SPDX-License-Identifier: Apache-2.0

public import Names

/// DNSPod's plain form: `GET /d?dn=www.example.com&ttl=1` over HTTP in the clear.
///
/// Whoever sits on the way can read and change these answers; they are checked like all others, but nothing proves
/// them.
public struct DNSPodUpstream: Upstream {
    /// The name in resolutions and errors.
    public let name: String
    private let origin: Origin
    private let endpoints: [Endpoint]
    private let transport: any UpstreamTransport

    /// DNSPod's public address, 119.29.29.29, port 80.
    public static let publicEndpoint = Endpoint(IPAddress(v4: 0x771d_1d1d), port: 80)

    /// The plain form at one or several endpoints, tried in their order.
    ///
    /// - Parameters:
    ///   - endpoints: Where it is. Default: ``publicEndpoint``.
    ///   - transport: What carries the requests.
    public init(at endpoints: [Endpoint] = [DNSPodUpstream.publicEndpoint], transport: any UpstreamTransport) {
        let first = endpoints.first ?? DNSPodUpstream.publicEndpoint
        self.endpoints = endpoints.isEmpty ? [first] : endpoints
        self.transport = transport
        origin = Origin(scheme: .http, host: Host(first.address), port: first.port)
        name = "dnspod:\(origin.authority)"
    }

    /// Answers a question; see ``Upstream/answer(_:)``.
    public func answer(_ question: Question) async throws(UpstreamError) -> Answer {
        let host = try question.host.dnsName().description
        let type =
            switch question.families {
            case .both: "&type=addrs"
            case .v6: "&type=aaaa"
            default: ""
            }
        let target = "/d?dn=\(PercentEncoding.encode(host, keeping: .unreserved))&ttl=1\(type)"
        let reply = try await transport.exchange(
            UpstreamRequest(origin: origin, endpoints: endpoints, target: target)
        )
        try reply.requireSuccess()
        let lines = try DNSPodAnswer.parse(try reply.text(), families: question.families)
        guard lines.count == 1, lines[0].name.map({ $0 == host.lowercased() }) ?? true else {
            throw UpstreamError(.wrongAnswer, "the answer is for another name")
        }
        return lines[0].answer
    }
}
