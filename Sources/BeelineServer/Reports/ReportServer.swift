// SPDX-License-Identifier: Apache-2.0

import Names

/// Serves `/metrics`, `/health` and `/ready` by HTTP for a server without HTTP of its own.
struct ReportServer: Sendable {
    private let service: ServerService
    private let listener: ServerListener

    /// The maximum number of connections. Monitoring needs few.
    private static let maxConnections = 64

    init(at endpoint: Endpoint, _ source: ServerService.Source) throws(ServerError) {
        var configuration = ServerConfiguration()
        configuration.listen = endpoint
        configuration.questionsPerSecond = nil
        configuration.maxConnections = Self.maxConnections
        configuration.connectionsPerClient = Self.maxConnections
        service = ServerService(configuration, source: source)
        listener = try ServerListener(configuration, service)
    }

    /// Starts to listen and returns the endpoint.
    func start() async throws(ServerError) -> Endpoint {
        let endpoint = try await listener.start()
        service.started()
        return endpoint
    }

    /// Answers `/ready` with 503 from now on. Returns whether it did not before.
    func retire() -> Bool { service.retire() }

    /// Refuses connections and closes the open ones.
    func stop() async { await listener.stop() }
}
