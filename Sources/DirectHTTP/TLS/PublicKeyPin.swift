// SPDX-License-Identifier: Apache-2.0

import Crypto
import NIOSSL
public import Names

/// The SHA-256 hash of a certificate's public key in DER form (SubjectPublicKeyInfo, RFC 7469 §2.4). It stays the same when a
/// certificate is renewed with the same key.
public struct PublicKeyPin: Hashable, Sendable, CustomStringConvertible {
    /// The hash, 32 bytes.
    package let hash: [UInt8]

    /// Creates a pin from a hash; nil unless it has 32 bytes.
    public init?(hash: some Sequence<UInt8>) {
        self.hash = Array(hash)
        guard self.hash.count == 32 else { return nil }
    }

    /// Creates the pin of a public key in DER form (SubjectPublicKeyInfo, RFC 5280 §4.1.2.7).
    public init(publicKey der: some Sequence<UInt8>) {
        hash = Array(SHA256.hash(data: Array(der)))
    }

    /// Parses `sha256//BASE64`, the form of curl's `--pinnedpubkey`, or `sha256/BASE64`, which other programs use.
    public init?(_ text: some StringProtocol) {
        guard text.hasPrefix("sha256/") else { return nil }
        let rest = text.dropFirst(7)
        // A slash is also a base64 digit. 32 bytes encode to 44 digits, so a longer text starts with the slash of curl's form.
        guard let hash = Base64.decodePadded(rest.utf8.count > 44 && rest.first == "/" ? rest.dropFirst() : rest) else {
            return nil
        }
        self.init(hash: hash)
    }

    /// The pin of a certificate's public key; nil if the key cannot be read.
    init?(of certificate: NIOSSLCertificate) {
        guard let key = try? certificate.extractPublicKey().toSPKIBytes() else { return nil }
        self.init(hash: SHA256.hash(data: key))
    }

    /// `sha256//BASE64`.
    public var description: String { "sha256//" + Base64.encode(hash) }
}

/// The public keys that are accepted from a host.
public struct PinnedHost: Hashable, Sendable {
    /// The host; nil for every host.
    package var host: Host?
    /// Whether the pins also apply to subdomains. Default true.
    package var includesSubdomains: Bool
    /// The accepted keys. Include a backup key in case the current one is lost (RFC 7469 §4.3). If empty, no key is accepted.
    package var pins: Set<PublicKeyPin>

    /// Pins the keys of a host (RFC 7469). Several entries for one host are joined.
    ///
    /// - Parameters:
    ///   - host: The host; nil for every origin. Pins of every host do not apply to upstreams.
    ///   - includesSubdomains: Whether the pins also apply to subdomains. Default true.
    ///   - pins: The accepted keys. Include a backup key in case the current one is lost (§4.3). With an empty set, no
    ///     key is accepted and every connection fails with `pinMismatch`.
    public init(_ host: Host?, includesSubdomains: Bool = true, pins: Set<PublicKeyPin>) {
        self.host = host
        self.includesSubdomains = includesSubdomains
        self.pins = pins
    }

    func covers(_ other: Host) -> Bool {
        guard let host else { return true }
        // Without the limits of DNS: a superdomain's pins also apply to a subdomain that only a proxy knows.
        guard let own = host.domain, let name = other.domain else { return host == other }
        return own == name || includesSubdomains && name.hasSuffix("." + own)
    }
}

extension TLSSettings {
    /// The keys accepted from a host: those of all entries that cover it; nil if no entry does.
    func pins(for host: Host) -> Set<PublicKeyPin>? {
        let entries = pins.filter { $0.covers(host) }
        return entries.isEmpty ? nil : entries.reduce(into: []) { $0.formUnion($1.pins) }
    }
}
