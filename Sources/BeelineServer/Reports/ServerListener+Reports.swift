// SPDX-License-Identifier: Apache-2.0

import Names

extension ServerListener {
    /// A listener that serves `/metrics`, `/health` and `/ready` by HTTP for a server without HTTP of its own.
    static func reports(_ source: ServerService.Source, at endpoint: Endpoint) throws(ServerError) -> ServerListener {
        // Monitoring needs few connections.
        let maxConnections = 64
        var configuration = ServerConfiguration()
        configuration.listen = endpoint
        configuration.questionsPerSecond = nil
        configuration.maxConnections = maxConnections
        configuration.connectionsPerClient = maxConnections
        return try ServerListener(configuration, ServerService(configuration, source: source))
    }
}
