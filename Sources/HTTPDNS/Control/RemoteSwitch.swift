// SPDX-License-Identifier: Apache-2.0

import Crypto
import HTTPTypes
public import Names

/// A switch for all installations, which ``Resolver/run()`` polls.
///
/// It fails open: if the document cannot be fetched, the last valid one applies until it expires. After that only the
/// configuration applies. An attacker who blocks the document therefore cannot turn the library off permanently. A
/// forged document has no effect.
public struct RemoteSwitch: Sendable {
    /// The https URL of the document.
    package var url: HTTPURL
    /// The addresses of the URL's host; empty if the host is an address.
    package var addresses: [IPAddress]
    /// The Ed25519 key that must have signed the document, 32 octets; nil: only TLS authenticates it.
    package var publicKey: [UInt8]?
    /// The polling interval. Default: 1 h.
    public var interval = Duration.seconds(3_600)
    /// The transport for requests.
    package var transport: any UpstreamTransport

    /// A switch at a URL.
    ///
    /// - Parameters:
    ///   - url: The https URL of the document.
    ///   - addresses: The addresses of the URL's host; not needed if the host is an address.
    ///   - publicKey: The Ed25519 key that must have signed the document, 32 octets; nil: only TLS authenticates it.
    ///   - transport: The transport for requests.
    public init(
        _ url: HTTPURL,
        at addresses: [IPAddress] = [],
        publicKey: [UInt8]? = nil,
        transport: EngineTransport
    ) {
        self.init(url, at: addresses, publicKey: publicKey, transport: transport as any UpstreamTransport)
    }

    package init(
        _ url: HTTPURL,
        at addresses: [IPAddress] = [],
        publicKey: [UInt8]? = nil,
        transport: any UpstreamTransport
    ) {
        self.url = url
        self.addresses = addresses
        self.publicKey = publicKey
        self.transport = transport
    }

    func fetch() async throws(UpstreamError) -> RemoteDocument {
        guard url.origin.scheme == .https else {
            throw UpstreamError(.misconfigured, "\(url): the switch needs an https URL")
        }
        var key: Curve25519.Signing.PublicKey?
        if let publicKey {
            key = try? Curve25519.Signing.PublicKey(rawRepresentation: publicKey)
            guard key != nil else { throw UpstreamError(.misconfigured, "the switch's public key is not valid") }
        }
        var request = UpstreamRequest(
            origin: url.origin,
            endpoints: try url.origin.endpoints(addresses),
            target: url.target
        )
        request.fields[.accept] = "application/json"
        request.maxReplySize = RemoteDocument.maxSize
        request.timeLimit = .seconds(10)
        let reply = try await transport.exchange(request)
        try reply.requireSuccess(hasAccount: false)
        return try RemoteDocument(reply.body, signedBy: key)
    }
}
