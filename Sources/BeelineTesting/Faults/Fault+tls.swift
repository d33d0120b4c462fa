// SPDX-License-Identifier: Apache-2.0

import NIOSSL

extension Fault {
    /// TLS faults: handshakes that fail or stall, certificates that the client must reject, connections that end without
    /// `close_notify`.
    package static let tls: [Fault] = [
        hello("tls-stall", "reads the ClientHello and answers nothing", outcome: .handshakeTimeout) {
            try await $0.drain()
        },
        hello("tls-close", "closes after the ClientHello", outcome: .handshakeFailure) { _ in },
        hello("tls-reset", "resets after the ClientHello, as a name filter does", outcome: .handshakeFailure) {
            await $0.reset()
        },
        hello("tls-plain", "answers the ClientHello with HTTP in the clear", outcome: .handshakeFailure) {
            try await $0.send("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            try await $0.drain()
        },
        hello("tls-alert", "answers the ClientHello with the alert handshake_failure", outcome: .handshakeFailure) {
            try await $0.send([21, 3, 3, 0, 2, 2, 40])
        },
        hello("tls-garbage", "answers the ClientHello with bytes that are not a record", outcome: .handshakeFailure) {
            try await $0.send((0..<300).map { UInt8(truncatingIfNeeded: $0 &* 151 &+ 77) })
            try await $0.drain()
        },
        hello("tls-half-record", "answers the ClientHello with the beginning of a record", outcome: .handshakeTimeout) {
            try await $0.send([22, 3, 3, 0, 122, 2, 0, 0])
            try await $0.drain()
        },
        certificate("tls-expired", "a certificate that expired yesterday", flaw: .expired),
        certificate("tls-not-yet", "a certificate that becomes valid tomorrow", flaw: .notYetValid),
        certificate("tls-self-signed", "a certificate signed by its own key", flaw: .selfSigned),
        certificate("tls-no-chain", "a certificate whose intermediate is not sent", flaw: .incompleteChain),
        ok("tls-other-name", "a trusted certificate for another name", outcome: .badCertificate) {
            ServerTLS(try $0.authority.certificate(for: "other.test"))
        },
        ok(
            "tls-address-only",
            "a trusted certificate for the dialled address, not for the name",
            outcome: .badCertificate
        ) {
            ServerTLS(try $0.authority.certificate(for: "127.0.0.1", "::1"))
        },
        ok("tls-deep-wildcard", "a certificate for a wildcard two labels above", outcome: .badCertificate) {
            certificates in
            ServerTLS(try certificates.authority.certificate(for: "*.test"))
        },
        ok("tls-impostor", "a certificate for the right name from an unknown authority", outcome: .badCertificate) {
            _ in
            ServerTLS(try TestAuthority(name: "Impostor").certificate(for: FaultServer.name))
        },
        ok("tls-old", "TLS 1.1 at most", outcome: .handshakeFailure) {
            var tls = ServerTLS($0.good)
            tls.minVersion = .tlsv1
            tls.maxVersion = .tlsv11
            return tls
        },
        ok(
            "tls-client-certificate",
            "asks for a client certificate of an authority that issued none to the client",
            outcome: .closed
        ) {
            var tls = ServerTLS($0.good)
            tls.clientAuthority = try TestAuthority(name: "Clients")
            return tls
        },
        ok("tls-no-alpn", "chooses no protocol, which means HTTP/1.1", outcome: .success) {
            var tls = ServerTLS($0.good)
            tls.applicationProtocols = []
            return tls
        },
        inside("tls-truncated", "a body without a length, ended by FIN without close_notify", outcome: .truncated) {
            try await $0.send("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nok")
            await $0.cut()
        },
        inside("tls-body-reset", "half of the body, then a reset", outcome: .truncated) {
            try await $0.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nok")
            await $0.reset()
        },
    ]

    /// Receives the ClientHello and answers with raw bytes instead of TLS.
    private static func hello(
        _ id: String,
        _ does: String,
        outcome: Outcome,
        answer: @escaping @Sendable (RawConnection) async throws -> Void
    ) -> Fault {
        Fault(id, does, outcome: outcome, layer: .tls) { connection, _ in
            _ = try await connection.receive()
            try await answer(connection)
        }
    }

    private static func certificate(_ id: String, _ does: String, flaw: CertificateFlaw) -> Fault {
        ok(id, does, outcome: .badCertificate) {
            ServerTLS(try $0.authority.certificate(for: FaultServer.name, flaw: flaw))
        }
    }

    /// Sends a good response if the handshake succeeds.
    private static func ok(
        _ id: String,
        _ does: String,
        outcome: Outcome,
        tls: @escaping @Sendable (FaultCertificates) throws -> ServerTLS
    ) -> Fault {
        Fault(id, does, outcome: outcome, layer: .tls, tls: tls) { connection, _ in
            while try await connection.receiveRequest() != nil { try await connection.send(goodResponse) }
        }
    }

    /// Completes the handshake and answers after the request.
    private static func inside(
        _ id: String,
        _ does: String,
        outcome: Outcome,
        answer: @escaping @Sendable (RawConnection) async throws -> Void
    ) -> Fault {
        Fault(id, does, outcome: outcome, layer: .tls, tls: { ServerTLS($0.good) }) { connection, _ in
            _ = try await connection.receiveRequest()
            try await answer(connection)
        }
    }

    /// A valid response.
    static let goodResponse = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
}
