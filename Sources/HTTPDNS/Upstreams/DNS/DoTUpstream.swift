// SPDX-License-Identifier: Apache-2.0

public import DirectHTTP
public import NIOCore
public import NIOPosix
import NIOSSL
public import Names

/// DNS over TLS (RFC 7858), with the strict check of the server's name (RFC 8310 §5).
public final class DoTUpstream: Upstream, NetworkAware {
    /// The name in resolutions and errors.
    public let name: String
    /// One record type a question.
    public let answersOneFamily = true
    private let stream: DNSStream
    private let isPadded: Bool

    /// An upstream. Its connection is opened at the first question, serves all questions at once, and is closed when
    /// it was idle for 10 s.
    ///
    /// - Parameters:
    ///   - host: What the certificate must be for: a name, or an address.
    ///   - addresses: Where to find it, without asking anyone; not needed where `host` is an address.
    ///   - port: The port. Default: 853.
    ///   - tls: How TLS is done.
    ///   - isPadded: Whether queries are made of one length (RFC 8467). Default: true.
    ///   - group: What runs the sockets.
    /// - Throws: ``UpstreamError`` with code `misconfigured` where no address is known.
    public init(
        _ host: Host,
        at addresses: [IPAddress] = [],
        port: UInt16 = 853,
        tls: TLSSettings = TLSSettings(),
        isPadded: Bool = true,
        group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton
    ) throws(UpstreamError) {
        let endpoints = try Origin(scheme: .https, host: host, port: port).endpoints(addresses)
        let contexts = TLSContextSource(tls, checksName: host.address == nil)
        name = "dot:\(host.urlForm)"
        self.isPadded = isPadded
        // An address has no place in SNI (RFC 6066 §3).
        let serverName = host.address == nil ? host.withoutFinalDot : nil
        stream = DNSStream(
            endpoints,
            group: group,
            tls: { (try contexts.context(), serverName) },
            checkedHost: tls.verifiesCertificate ? host : nil
        )
    }

    /// Closes the connection. The next question opens another, through the network's NAT64 where there is no IPv4.
    public func networkChanged(to network: Network) { stream.networkChanged(to: network) }

    /// Answers a question; see ``Upstream/answer(_:)``.
    public func answer(_ question: Question) async throws(UpstreamError) -> Answer {
        var answer = Answer()
        for family in question.families.members {
            let asked = DNSQuestion(try question.host.dnsName(), family == .v4 ? .a : .aaaa)
            let edns = EDNS(paddingBlock: isPadded ? DoHUpstream.paddingBlock : nil, subnet: question.subnet)
            let octets = try await stream.ask { DNSMessage.query(asked, id: $0, edns: edns) }
            let message = try DNSMessage(reply: octets)
            answer[family] = try message.records(answering: asked, id: message.id)
        }
        return answer
    }
}
