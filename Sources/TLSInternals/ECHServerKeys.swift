// SPDX-License-Identifier: Apache-2.0

import CTLSInternals
package import NIOSSL

/// A new key with which servers decrypt ClientHellos (RFC 9849), for tests.
package final class ECHServerKeys: Sendable {
    /// The `ECHConfigList` for clients. The server also sends it as its retry configurations.
    package let configurations: [UInt8]
    /// A BoringSSL object, which does not change after `init`.
    nonisolated(unsafe) private let keys: UnsafeMutableRawPointer

    /// Creates a key.
    ///
    /// - Parameters:
    ///   - id: the number by which the server finds the key.
    ///   - publicName: the server name in the outer ClientHello.
    /// - Returns: nil if the name is not valid, or if BoringSSL lacks the functions.
    package init?(id: UInt8, publicName: String) {
        guard let keys = tls_ech_keys_new() else { return nil }
        var config = [UInt8](repeating: 0, count: 512)
        let length = tls_ech_keys_add(keys, id, publicName, &config, config.count)
        guard length > 0 else {
            tls_ech_keys_free(keys)
            return nil
        }
        self.keys = keys
        configurations = [UInt8(length >> 8), UInt8(length & 0xff)] + config.prefix(length)
    }

    deinit { tls_ech_keys_free(keys) }

    /// Uses the key for all later connections of a server's context. Returns false if that is not possible.
    package func use(in context: NIOSSLContext) -> Bool {
        guard let wrapped = Mirror(reflecting: context).descendant("sslContext") as? OpaquePointer else { return false }
        return tls_ech_keys_use(UnsafeMutableRawPointer(wrapped), keys)
    }
}
