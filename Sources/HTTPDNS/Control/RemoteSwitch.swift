// SPDX-License-Identifier: Apache-2.0

import Crypto
import HTTPTypes
public import Names

/// Where a switch for all installations is found. ``Resolver/run()`` looks at it again and again.
///
/// It fails open: while the document cannot be had the last good one counts, until it expires; after that the
/// configuration alone decides, as before the first one came. So nobody can turn the library off for good, and a
/// forged answer turns nothing.
public struct RemoteSwitch: Sendable {
    /// The document's URL; https.
    public var url: HTTPURL
    /// Where to find the URL's host; empty where it is an address.
    public var addresses: [IPAddress]
    /// The Ed25519 key that must have signed the document, 32 octets; nil: TLS alone vouches for it.
    public var publicKey: [UInt8]?
    /// How often it is looked at. Default: 1 h.
    public var interval = Duration.seconds(3_600)
    /// What carries the requests.
    public var transport: any UpstreamTransport

    /// A switch.
    public init(
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
            guard key != nil else { throw UpstreamError(.misconfigured, "the switch's public key is none") }
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
