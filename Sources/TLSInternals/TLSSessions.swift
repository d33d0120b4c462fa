// SPDX-License-Identifier: Apache-2.0

import CTLSInternals
import NIOConcurrencyHelpers
package import NIOSSL

/// The TLS sessions received by the connections of one context (RFC 8446 §2.2, RFC 5077).
///
/// NIOSSL has no API for sessions. Only this target and the C target CTLSInternals below it depend on internals of
/// swift-nio-ssl: one stored property, and functions of its BoringSSL that are bound weakly. A version without them
/// resumes no session, and `TLSSessionTests` fails.
///
/// Resuming a session skips the server's certificate and its verification. The client also sends a key share only for
/// the group that the server chose before. A share of the hybrid group costs a kilobyte and half of the handshake's
/// work, and most servers do not use it. The list of supported groups is unchanged.
package final class TLSSessions: Sendable {
    private let state = NIOLockedValueBox(TLSSessionTable<Session>())

    /// A BoringSSL session, which is immutable.
    private final class Session: @unchecked Sendable {
        let pointer: UnsafeMutableRawPointer
        /// The key exchange group of the handshake that created the session.
        let group: UInt16

        init(_ pointer: UnsafeMutableRawPointer, group: UInt16) {
            self.pointer = pointer
            self.group = group
        }

        deinit { tls_sessions_free(pointer) }
    }

    /// Stores and offers the sessions of all connections of a context; nil if its BoringSSL does not support that.
    package init?(of context: NIOSSLContext) {
        // NIOSSL does not expose its SSL_CTX. If a version renames the property, sessions are not resumed, and a test fails.
        guard let wrapped = Mirror(reflecting: context).descendant("sslContext") as? OpaquePointer else { return nil }
        let owner = Unmanaged.passRetained(self)
        guard tls_sessions_follow(UnsafeMutableRawPointer(wrapped), owner.toOpaque(), Self.calls) else {
            owner.release()
            return nil
        }
    }

    private static let calls = TLSSessionCalls(
        begins: { owner, connection, server in
            guard let session = TLSSessions.of(owner).take(for: String(cString: server)) else { return }
            tls_sessions_offer(connection, session.pointer, session.group)
        },
        given: { owner, connection, server, session in
            let session = Session(session, group: tls_sessions_group(connection))
            TLSSessions.of(owner).keep(session, for: String(cString: server))
        },
        ended: { owner in Unmanaged<TLSSessions>.fromOpaque(owner).release() }
    )

    private static func of(_ owner: UnsafeMutableRawPointer) -> TLSSessions {
        Unmanaged<TLSSessions>.fromOpaque(owner).takeUnretainedValue()
    }

    private func take(for server: String) -> Session? { state.withLockedValue { $0.take(for: server) } }

    package func forget(_ server: String) { state.withLockedValue { $0.forget(server) } }

    private func keep(_ session: Session, for server: String) {
        state.withLockedValue { $0.keep(session, for: server) }
    }
}
