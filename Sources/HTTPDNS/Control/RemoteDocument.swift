// SPDX-License-Identifier: Apache-2.0

import Crypto
import Names

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The document of a remote switch: whether HTTPDNS is on, for which names, and until when.
///
/// ```json
/// {"enabled":true,"issued":1700000000,"expires":1700086400,"denied":["pay.example.com"],"allowed":["example.com"],"canary":25}
/// ```
/// A signed document is wrapped as text, so that the signed octets are preserved:
/// ```json
/// {"document":"{\"enabled\":…}","signature":"base64 of Ed25519"}
/// ```
struct RemoteDocument: Hashable {
    /// Whether names go to the upstreams.
    var isEnabled: Bool
    /// When the document was issued, in seconds since 1970. A document older than the last one is rejected.
    var issued: Int64
    /// When the document expires, in seconds since 1970.
    var expires: Int64
    /// Denied domains in addition to those of the configuration.
    var denied: DomainSet = []
    /// Allowed domains in place of those of the configuration; nil: not specified.
    var allowed: DomainSet?
    /// A percentage in place of that of the configuration; nil: not specified.
    var canary: Double?

    /// The maximum size of a document, in octets.
    static let maxSize = 65_536
    /// The maximum lifetime of a document, in seconds.
    static let longestLife: Int64 = 30 * 86_400

    /// Parses a document.
    ///
    /// - Parameter key: The public key that must have signed it; nil: only TLS authenticates it.
    /// - Throws: ``UpstreamError`` with code `untrusted` or `malformedAnswer`.
    init(_ octets: [UInt8], signedBy key: Curve25519.Signing.PublicKey?) throws(UpstreamError) {
        var octets = octets
        if let key {
            guard let wrapper = JSONValue(octets, limit: Self.maxSize), let text = wrapper["document"]?.string,
                let signature = wrapper["signature"]?.string.flatMap({ Base64.decode($0) }),
                key.isValidSignature(signature, for: Array(text.utf8))
            else { throw UpstreamError(.untrusted, "the switch is not signed with the configured key") }
            octets = Array(text.utf8)
        }
        guard let body = JSONValue(octets, limit: Self.maxSize), case .bool(let isEnabled)? = body["enabled"],
            let expires = body["expires"]?.integer
        else { throw UpstreamError(.malformedAnswer, "the switch has no valid \"enabled\" and \"expires\"") }
        self.isEnabled = isEnabled
        self.expires = expires
        if let value = body["issued"], value != .null {
            guard let issued = value.integer else {
                throw UpstreamError(.malformedAnswer, "\"issued\" of the switch is not a time")
            }
            self.issued = issued
        } else {
            issued = 0
        }
        denied = try Self.domains(body["denied"]) ?? []
        allowed = try Self.domains(body["allowed"])
        switch body["canary"] {
        case nil, .null?: break
        case .number(let text)? where (0...100).contains(Double(text) ?? -1): canary = Double(text)
        default: throw UpstreamError(.malformedAnswer, "\"canary\" of the switch is not a number from 0 to 100")
        }
    }

    /// The domains of a list; nil if there is none. An invalid entry is an error: to ignore it could send a name to the
    /// upstreams that should be denied.
    private static func domains(_ value: JSONValue?) throws(UpstreamError) -> DomainSet? {
        guard let value, value != .null else { return nil }
        var domains: DomainSet = []
        let isList = value.array?.allSatisfy { $0.string.map { domains.insert($0) } ?? false }
        guard isList ?? false else {
            throw UpstreamError(.malformedAnswer, "\"denied\" or \"allowed\" of the switch is not a list of domains")
        }
        return domains
    }
}

/// The state of the remote switch. The last valid document applies until it expires; then only the configuration does.
struct RemoteState {
    private(set) var document: RemoteDocument?
    private var newest: Int64 = 0
    private var failures = 0

    /// The pause after the first failure; it doubles with each failure.
    static let firstRetry = Duration.seconds(60)

    /// Applies a document unless it has expired or is older than the last one.
    ///
    /// - Parameter now: Seconds since 1970.
    /// - Returns: Whether the document was applied.
    mutating func received(_ document: RemoteDocument, now: Int64) -> Bool {
        guard document.expires > now, document.issued >= newest else {
            failures += 1
            return false
        }
        failures = 0
        var document = document
        document.expires = min(document.expires, now + RemoteDocument.longestLife)
        // Bounded by now: a document signed under a clock that was ahead must not make later ones look old.
        newest = max(newest, min(document.issued, now))
        self.document = document
        return true
    }

    /// Records a failure to fetch a document; the last one still applies.
    mutating func failed() { failures += 1 }

    /// The time until the document is fetched again: `interval`, or less after failures and before the document
    /// expires; at least 1 s in that case.
    ///
    /// - Parameter now: Seconds since 1970.
    func pause(interval: Duration, now: Int64) -> Duration {
        let pause = failures == 0 ? interval : Self.firstRetry.doubled(failures - 1, upTo: interval)
        guard let document else { return pause }
        return min(pause, .seconds(max(1, document.expires - now)))
    }

    /// Drops an expired document and returns whether there was one.
    mutating func expire(now: Int64) -> Bool {
        guard let document, document.expires <= now else { return false }
        self.document = nil
        return true
    }

    /// The policy with the document applied.
    func applied(to policy: NamePolicy) -> NamePolicy {
        guard let document else { return policy }
        var policy = policy
        policy.denied.formUnion(document.denied)
        policy.allowed = document.allowed ?? policy.allowed
        if let percentage = document.canary { policy.canary?.percentage = percentage }
        return policy
    }
}
