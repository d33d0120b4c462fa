// SPDX-License-Identifier: Apache-2.0

package import NIOSSL

extension TLSSettings {
    /// Creates a context with these settings for a protocol other than HTTP.
    ///
    /// - Parameters:
    ///   - applicationProtocols: the ALPN protocols, in order of preference; empty to send none.
    ///   - checksName: as for ``TLSContexts/context(for:checksName:)``; NAT64 may have changed the dialled address.
    package func context(applicationProtocols: [String], checksName: Bool = true) throws -> NIOSSLContext {
        var configuration = try TLSContexts.configuration(self, checksName)
        configuration.applicationProtocols = applicationProtocols
        return try TLSContext(self, configuration).context
    }
}
