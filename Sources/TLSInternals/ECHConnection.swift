// SPDX-License-Identifier: Apache-2.0

import CTLSInternals
package import NIOSSL

/// Encrypted Client Hello on one client connection (RFC 9849), for which NIOSSL has no API. Must be used on the event
/// loop of the connection.
package final class ECHConnection {
    /// Keeps ``connection`` alive.
    private let handler: NIOSSLClientHandler
    private let connection: UnsafeMutableRawPointer

    /// Nil if NIOSSL stores its connection in another place than the known versions. A test fails then.
    package init?(of handler: NIOSSLClientHandler) {
        // NIOSSL does not expose its SSL object.
        guard let ssl = Mirror(reflecting: handler).superclassMirror?.descendant("connection", "ssl") as? OpaquePointer
        else { return nil }
        self.handler = handler
        connection = UnsafeMutableRawPointer(ssl)
    }

    /// Encrypts the ClientHello for the first usable configuration of an `ECHConfigList`. Call it before the handshake. If none is
    /// usable, e.g. because the settings exclude TLS 1.3, the handshake fails. Returns false if the list is malformed.
    package func offer(_ list: [UInt8]) -> Bool {
        list.withUnsafeBufferPointer { list in
            list.baseAddress.map { tls_ech_offer(connection, $0, list.count) } ?? false
        }
    }

    /// Sends a random ECH extension (RFC 9849 §6.2). Call it before the handshake. Returns false if BoringSSL cannot do so.
    package func sendGrease() -> Bool { tls_ech_grease(connection) }

    /// Whether the server used the encrypted ClientHello.
    package var isAccepted: Bool { tls_ech_is_accepted(connection) }

    /// Whether the server used the outer ClientHello instead of the encrypted one. The certificate may still be
    /// invalid.
    package var isRejected: Bool { tls_ech_is_rejected(connection) }

    /// The retry configurations of the server, as an `ECHConfigList`; empty if there are none. May be called only after the
    /// handshake failed with BoringSSL's error `ECH_REJECTED`.
    package var retryConfigurations: [UInt8] {
        var list: UnsafePointer<UInt8>?
        var length = 0
        tls_ech_retry(connection, &list, &length)
        return Array(UnsafeBufferPointer(start: list, count: length))
    }
}
