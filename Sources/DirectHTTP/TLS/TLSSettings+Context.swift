// SPDX-License-Identifier: Apache-2.0

package import NIOSSL

extension TLSSettings {
    /// A context for a protocol other than HTTP that speaks TLS by these settings.
    ///
    /// - Parameter applicationProtocols: what is offered by ALPN, best first; empty: nothing.
    package func context(applicationProtocols: [String]) throws -> NIOSSLContext {
        var configuration = try TLSContexts.configuration(self)
        configuration.applicationProtocols = applicationProtocols
        return try NIOSSLContext(configuration: configuration)
    }
}
