// SPDX-License-Identifier: Apache-2.0

import CTLSSessions
import NIOConcurrencyHelpers
import NIOSSL

/// The sessions that servers gave to the connections of one context (RFC 8446 §2.2, RFC 5077).
///
/// A connection that offers one to the server of the same name is spared the server's certificate and the check of it. It
/// offers a key for that group alone which the server chose before: a key of the hybrid group is a kilobyte and half of a
/// handshake's work, and most servers do not take it. What else is supported is said as ever.
final class TLSSessions: Sendable {
    private let state = NIOLockedValueBox(TLSSessionTable<Session>())

    /// A session of BoringSSL's, which does not change.
    private final class Session: @unchecked Sendable {
        let pointer: UnsafeMutableRawPointer
        /// The group of the key exchange that led to it.
        let group: UInt16

        init(_ pointer: UnsafeMutableRawPointer, group: UInt16) {
            self.pointer = pointer
            self.group = group
        }

        deinit { tls_sessions_free(pointer) }
    }

    /// Keeps and offers the sessions of all connections of a context; nil where its BoringSSL cannot be asked to.
    init?(of context: NIOSSLContext) {
        // NIOSSL gives nobody what it wraps. A version that names it otherwise resumes nothing, which a test would tell.
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

    /// Forgets what a server gave.
    func forget(_ server: String) { state.withLockedValue { $0.forget(server) } }

    private func keep(_ session: Session, for server: String) {
        state.withLockedValue { $0.keep(session, for: server) }
    }
}
