// SPDX-License-Identifier: Apache-2.0

import Names

/// Serves `/metrics` and `/health` by HTTP for a server without HTTP of its own.
struct ReportServer: Sendable {
    private let service: ServerService
    private let listener: ServerListener

    /// The maximum number of connections. Monitoring needs few.
    private static let maxConnections = 64

    /// - Parameter report: Returns the text of `/metrics`. Called on event loops.
    init(at endpoint: Endpoint, report: @escaping @Sendable () -> String) throws(ServerError) {
        var configuration = ServerConfiguration()
        configuration.listen = endpoint
        configuration.questionsPerSecond = nil
        configuration.maxConnections = Self.maxConnections
        configuration.connectionsPerClient = Self.maxConnections
        service = ServerService(configuration) { _ in report() }
        listener = try ServerListener(configuration, service)
    }

    /// Starts to listen and returns the endpoint.
    func start() async throws(ServerError) -> Endpoint { try await listener.start() }

    /// Answers `/health` with 503 from now on.
    func drain() { service.drain() }

    func stop() async { await listener.stop() }
}
