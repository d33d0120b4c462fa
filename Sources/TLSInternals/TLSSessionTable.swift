// SPDX-License-Identifier: Apache-2.0

/// TLS sessions by server name, with bounds on names and on sessions per name. A value type, so that it can be tested without
/// TLS.
struct TLSSessionTable<Session: Sendable>: Sendable {
    /// The maximum number of names. The least recently used name is evicted.
    static var maxNames: Int { 128 }
    /// The maximum number of sessions per name, for concurrent connections. A session takes about 10 KB.
    static var sessionsPerName: Int { 4 }

    private struct Server: Sendable {
        var sessions: [Session] = []
        var lastUse = 0
    }

    private var servers: [String: Server] = [:]
    private var uses = 0

    /// The number of names.
    var count: Int { servers.count }

    /// Removes and returns the newest session.
    mutating func take(for server: String) -> Session? {
        uses += 1
        servers[server]?.lastUse = uses
        return servers[server]?.sessions.popLast()
    }

    mutating func forget(_ server: String) { servers[server] = nil }

    mutating func keep(_ session: Session, for server: String) {
        if servers[server] == nil, servers.count == Self.maxNames,
            let oldest = servers.min(by: { $0.value.lastUse < $1.value.lastUse })
        {
            servers[oldest.key] = nil
        }
        uses += 1
        var known = servers.removeValue(forKey: server) ?? Server()
        known.lastUse = uses
        known.sessions.append(session)
        if known.sessions.count > Self.sessionsPerName { known.sessions.removeFirst() }
        servers[server] = known
    }
}
