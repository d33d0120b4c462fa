// SPDX-License-Identifier: Apache-2.0

import Crypto
import Names

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What a remote switch says: whether HTTPDNS is on, and for whom, until when.
///
/// ```json
/// {"enabled":true,"issued":1700000000,"expires":1700086400,"denied":["pay.example.com"],"allowed":["example.com"],"canary":25}
/// ```
/// Signed, it is wrapped, the document as text so that its octets are those that were signed:
/// ```json
/// {"document":"{\"enabled\":…}","signature":"base64 of Ed25519"}
/// ```
struct RemoteDocument: Hashable {
    /// Whether names go to the upstreams.
    var isEnabled: Bool
    /// When it was made, in seconds since 1970. One that is older than the last is not taken.
    var issued: Int64
    /// Until when it counts.
    var expires: Int64
    /// Domains besides those of the configuration.
    var denied: DomainSet = []
    /// Domains instead of those of the configuration; nil: it does not say.
    var allowed: DomainSet?
    /// A percentage instead of that of the configuration; nil: it does not say.
    var canary: Double?

    /// The largest document that is taken, in octets.
    static let maxSize = 65_536
    /// The longest time that one may count for, in seconds.
    static let longestLife: Int64 = 30 * 86_400

    /// Reads a document.
    ///
    /// - Parameter key: The public key that must have signed it; nil: TLS alone vouches for it.
    /// - Throws: ``UpstreamError`` with code `untrusted` or `malformedAnswer`.
    init(_ octets: [UInt8], signedBy key: Curve25519.Signing.PublicKey?) throws(UpstreamError) {
        var octets = octets
        if let key {
            guard let wrapper = JSONValue(octets, limit: Self.maxSize), let text = wrapper["document"]?.string,
                let signature = wrapper["signature"]?.string.flatMap({ Base64.decode($0) }),
                key.isValidSignature(signature, for: Array(text.utf8))
            else { throw UpstreamError(.untrusted, "the switch is not signed by the key that we know") }
            octets = Array(text.utf8)
        }
        guard let body = JSONValue(octets, limit: Self.maxSize), case .bool(let isEnabled)? = body["enabled"],
            let expires = body["expires"]?.integer
        else { throw UpstreamError(.malformedAnswer, "the switch says neither whether nor until when") }
        self.isEnabled = isEnabled
        self.expires = expires
        issued = body["issued"]?.integer ?? 0
        denied = DomainSet((body["denied"]?.array ?? []).compactMap(\.string))
        allowed = body["allowed"]?.array.map { DomainSet($0.compactMap(\.string)) }
        if case .number(let text)? = body["canary"], let percentage = Double(text), (0...100).contains(percentage) {
            canary = percentage
        }
    }
}

/// The remote switch over time: the last good document counts until it expires; then the configuration alone does.
struct RemoteState {
    private(set) var document: RemoteDocument?
    private var newest: Int64 = 0
    private var failures = 0

    /// How often it is asked after failures: at first, and at most.
    static let firstRetry = Duration.seconds(60)

    /// Takes a document.
    ///
    /// - Parameter now: Seconds since 1970.
    /// - Returns: Whether it counts now.
    mutating func received(_ document: RemoteDocument, now: Int64) -> Bool {
        failures = 0
        guard document.expires > now, document.issued >= newest else { return false }
        var document = document
        document.expires = min(document.expires, now + RemoteDocument.longestLife)
        // A clock that was wrong where it was signed must not keep all that are signed later from being taken.
        newest = max(newest, min(document.issued, now))
        self.document = document
        return true
    }

    /// A document could not be had: the last one goes on to count.
    ///
    /// - Returns: After how long to ask again.
    mutating func failed(interval: Duration) -> Duration {
        failures += 1
        return min(Self.firstRetry * (1 << min(failures - 1, 10)), interval)
    }

    /// Drops a document whose time is over; whether there was one.
    mutating func expire(now: Int64) -> Bool {
        guard let document, document.expires <= now else { return false }
        self.document = nil
        return true
    }

    /// The policy under the document.
    func applied(to policy: NamePolicy) -> NamePolicy {
        guard let document else { return policy }
        var policy = policy
        policy.denied.formUnion(document.denied)
        policy.allowed = document.allowed ?? policy.allowed
        if let percentage = document.canary { policy.canary?.percentage = percentage }
        return policy
    }
}
