// SPDX-License-Identifier: Apache-2.0

package import DirectHTTP
import NIOSSL
package import Names

/// DNS over TLS (RFC 7858), with strict authentication of the server's name (RFC 8310 §5).
package final class DoTUpstream: MessageUpstream, NetworkAware {
    package let name: String
    package let answersOneFamily = true
    package let isAuthenticated: Bool
    private let stream: DNSStream

    /// An upstream for one server. Its connection is opened at the first question, shared by concurrent questions, and
    /// closed after 10 s without queries.
    ///
    /// - Throws: ``UpstreamError`` with code `misconfigured` if no address is known.
    package init(
        _ host: Host,
        at addresses: [IPAddress] = [],
        port: UInt16 = 853,
        tls: TLSSettings = TLSSettings()
    ) throws(UpstreamError) {
        let endpoints = try Origin(scheme: .https, host: host, port: port).endpoints(addresses)
        let contexts = TLSContextSource(tls, checksName: host.address == nil)
        name = "dot:\(host.urlForm)" + (port == 853 ? "" : ":\(port)")
        isAuthenticated = tls.verifiesCertificate
        // SNI does not allow addresses (RFC 6066 §3).
        let serverName = host.domain
        stream = DNSStream(
            endpoints,
            tls: { (try contexts.context(), serverName) },
            checkedHost: tls.verifiesCertificate ? host : nil
        )
    }

    package func response(to query: MessageQuery) async throws(UpstreamError) -> DNSMessage {
        let edns = query.edns(paddingBlock: DoHUpstream.paddingBlock)
        let (question, checks) = (query.question, query.checks)
        var octets = try await stream.ask { DNSMessage.query(question, id: $0, edns: edns, checks: checks) }
        var message = try DNSMessage(reply: octets)
        if message.isRefusalOfEDNS, !query.wantsSignatures {
            octets = try await stream.ask { DNSMessage.query(question, id: $0, checks: checks) }
            message = try DNSMessage(reply: octets)
        }
        return try query.checked(message)
    }

    /// Closes the connection. The next question opens a new one, through the network's NAT64 if there is no IPv4.
    package func networkChanged(to network: Network) { stream.networkChanged(to: network) }
}
