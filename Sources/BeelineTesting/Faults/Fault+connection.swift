// SPDX-License-Identifier: Apache-2.0

extension Fault {
    /// TCP faults: the connection fails, or the server accepts it and does not answer.
    package static let connection: [Fault] = [
        Fault(
            "refused",
            "is bound and does not listen: every first packet is answered by RST",
            outcome: .refused,
            layer: .connection,
            play: .refuse
        ),
        Fault(
            "black-hole",
            "drops every first packet, as behind a dead route",
            outcome: .connectTimeout,
            layer: .connection,
            play: .blackHole
        ),
        accepts("silent", "accepts, reads nothing and answers nothing", outcome: .timeout) { try await $0.hold() },
        accepts("drain", "accepts, reads everything and answers nothing", outcome: .timeout) { try await $0.drain() },
        accepts("accept-close", "closes on accept", outcome: .closed) { _ in },
        accepts("accept-reset", "resets on accept", outcome: .closed) { await $0.reset() },
        accepts("request-close", "reads the request, then closes", outcome: .closed) {
            _ = try await $0.receiveRequest()
        },
        accepts("request-reset", "reads the request, then resets", outcome: .closed) { connection in
            _ = try await connection.receiveRequest()
            await connection.reset()
        },
    ]

    private static func accepts(
        _ id: String,
        _ does: String,
        outcome: Outcome,
        serve: @escaping @Sendable (RawConnection) async throws -> Void
    ) -> Fault {
        Fault(id, does, outcome: outcome, layer: .connection) { connection, _ in try await serve(connection) }
    }
}
