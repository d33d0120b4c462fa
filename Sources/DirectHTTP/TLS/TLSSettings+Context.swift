// SPDX-License-Identifier: Apache-2.0

package import NIOSSL

extension TLSSettings {
    /// A context for a protocol other than HTTP that speaks TLS by these settings.
    ///
    /// - Parameters:
    ///   - applicationProtocols: what is offered by ALPN, best first; empty: nothing.
    ///   - checksName: whether the peer has a name. Where it has only an address NIOSSL would check the one that was dialled,
    ///     which may be another (NAT64); ``CertificateName`` checks the right one.
    package func context(applicationProtocols: [String], checksName: Bool = true) throws -> NIOSSLContext {
        var configuration = try TLSContexts.configuration(self, checksName)
        configuration.applicationProtocols = applicationProtocols
        return try TLSContext(self, configuration).context
    }
}
