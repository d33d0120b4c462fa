// SPDX-License-Identifier: Apache-2.0

/// The sessions of servers by name, bounded in names and in sessions of a name. A value, so that it can be tested without TLS.
struct TLSSessionTable<Session: Sendable>: Sendable {
    /// Names whose sessions are kept; beyond that, the name that was used longest ago is forgotten.
    static var maximumNames: Int { 128 }
    /// Sessions kept for a name, for as many connections at once. A session weighs some 10 KB.
    static var sessionsPerName: Int { 4 }

    private struct Server: Sendable {
        var sessions: [Session] = []
        var lastUse = 0
    }

    private var servers: [String: Server] = [:]
    private var uses = 0

    /// Names that are known.
    var count: Int { servers.count }

    /// The newest session, which is the caller's alone from now on.
    mutating func take(for server: String) -> Session? {
        uses += 1
        servers[server]?.lastUse = uses
        return servers[server]?.sessions.popLast()
    }

    /// Forgets what a server gave.
    mutating func forget(_ server: String) { servers[server] = nil }

    mutating func keep(_ session: Session, for server: String) {
        if servers[server] == nil, servers.count == Self.maximumNames,
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
