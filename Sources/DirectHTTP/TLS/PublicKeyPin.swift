// SPDX-License-Identifier: Apache-2.0

import Crypto
import NIOSSL
public import Names

/// SHA-256 of a certificate's public key in its DER form, SubjectPublicKeyInfo (RFC 7469 §2.4). It outlives a certificate that
/// is renewed with the same key.
public struct PublicKeyPin: Hashable, Sendable, CustomStringConvertible {
    /// The hash, 32 bytes.
    public let hash: [UInt8]

    /// A pin of a hash; nil where it has not 32 bytes.
    public init?(hash: some Sequence<UInt8>) {
        self.hash = Array(hash)
        guard self.hash.count == 32 else { return nil }
    }

    /// Reads `sha256//BASE64` as curl's `--pinnedpubkey` takes it, or `sha256/BASE64` as other programs write it.
    public init?(_ text: some StringProtocol) {
        guard text.hasPrefix("sha256/") else { return nil }
        let rest = text.dropFirst(7)
        // A slash is a digit too: 32 bytes have 44 of them, and what is more than that is curl's.
        guard let hash = Base64.decodePadded(rest.utf8.count > 44 && rest.first == "/" ? rest.dropFirst() : rest) else {
            return nil
        }
        self.init(hash: hash)
    }

    /// The pin of a certificate's key.
    init?(of certificate: NIOSSLCertificate) {
        guard let key = try? certificate.extractPublicKey().toSPKIBytes() else { return nil }
        self.init(hash: SHA256.hash(data: key))
    }

    /// `sha256//BASE64`.
    public var description: String { "sha256//" + Base64.encode(hash) }
}

/// The public keys that a host may show.
public struct PinnedHost: Hashable, Sendable {
    /// The host; nil: every host.
    public var host: Host?
    /// Whether the hosts below it are pinned too. Default true.
    public var includesSubdomains: Bool
    /// The keys, any of which will do: the one in use and, for the day on which it is lost, one in reserve (RFC 7469 §4.3).
    /// Empty: no key will do.
    public var pins: Set<PublicKeyPin>

    /// Pins of a host.
    public init(_ host: Host?, includesSubdomains: Bool = true, pins: Set<PublicKeyPin>) {
        self.host = host
        self.includesSubdomains = includesSubdomains
        self.pins = pins
    }

    func covers(_ other: Host) -> Bool {
        guard let host else { return true }
        guard let own = host.dnsName, let name = other.dnsName else { return host == other }
        return own == name || includesSubdomains && name.hasSuffix("." + own)
    }
}

extension TLSSettings {
    /// The keys that a host may show: those of every entry that covers it; nil where none does.
    func pins(for host: Host) -> Set<PublicKeyPin>? {
        let entries = pins.filter { $0.covers(host) }
        return entries.isEmpty ? nil : entries.reduce(into: []) { $0.formUnion($1.pins) }
    }

    /// The same for services that name origins: without the client certificate and the pins that cover every host, both of
    /// which are for origins.
    package var forUpstreams: TLSSettings {
        var settings = self
        settings.pins.removeAll { $0.host == nil }
        settings.identity = nil
        return settings
    }

    /// How TLS with a proxy is done where nobody says: as with origins, but always checked and without what is meant for them.
    package var forProxy: TLSSettings {
        var settings = self
        settings.verifiesCertificate = true
        settings.offersHTTP2 = false
        settings.pins = []
        settings.identity = nil
        return settings
    }
}
