// SPDX-License-Identifier: Apache-2.0

package import NIOCore
import NIOSSL
package import Names

/// Matches a certificate to a host (RFC 9525 §6.3): a name only by its DNS names, an address only by its IP addresses.
///
/// NIOSSL also accepts a certificate for the *address* that was dialled. An attacker can get a certificate for its own address,
/// and a poisoned DNS answer may lead there. So for an origin with a name, only the name counts.
package enum CertificateName {
    /// Whether the peer of a channel presented a certificate for the host. Must be called on the channel's event loop.
    package static func isShown(by channel: any Channel, for host: Host) -> Bool {
        let certificate = try? channel.pipeline.syncOperations.nioSSL_peerCertificate()
        return certificate.map { covers($0, host) } ?? false
    }

    /// Whether the certificate is valid for a host: by its name, or by its address if the host is an address.
    static func covers(_ certificate: NIOSSLCertificate, _ host: Host) -> Bool {
        guard let address = host.address else { return covers(certificate, host.text) }
        return certificate._subjectAlternativeNames().contains { alternative in
            alternative.nameType == .ipAddress && Array(alternative.contents) == address.octets
        }
    }

    static func covers(_ certificate: NIOSSLCertificate, _ name: String) -> Bool {
        certificate._subjectAlternativeNames().contains { alternative in
            alternative.nameType == .dnsName && matches(Array(alternative.contents), name)
        }
    }

    /// Matches a name. A wildcard stands for the whole leftmost label, and at least two labels must follow it.
    package static func matches(_ pattern: [UInt8], _ name: String) -> Bool {
        let pattern = labels(String(decoding: pattern, as: UTF8.self))
        let name = labels(name)
        guard pattern.count == name.count, !name.isEmpty else { return false }
        guard pattern[0] == "*" else { return pattern == name }
        return pattern.count >= 3 && pattern.dropFirst() == name.dropFirst()
    }

    private static func labels(_ name: String) -> [String] {
        let name = name.lowercased()
        return (name.hasSuffix(".") ? name.dropLast() : name[...])
            .split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    }
}
