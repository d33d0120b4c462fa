// SPDX-License-Identifier: Apache-2.0

#if Redis
import NIOConcurrencyHelpers
import NIOPosix

/// A thread with a connection that is opened when it is needed. Work runs one after another.
final class RedisSession: Sendable {
    private struct State {
        var link: RedisLink?
        var isEnded = false
    }

    /// The maximum number of redirections of a cluster for one call.
    private static let maxRedirections = 4

    private let connector: RedisConnector
    private let thread = NIOThreadPool(numberOfThreads: 1)
    /// Guards the reference to the connection, not its use.
    private let state = NIOLockedValueBox(State())

    init(_ connector: RedisConnector) {
        self.connector = connector
        thread.start()
    }

    deinit { thread.shutdownGracefully { _ in } }

    /// Whether a connection is open.
    var isOpen: Bool { state.withLockedValue { $0.link != nil } }

    /// Runs work on the thread. Nil if the session has ended.
    func run<Result: Sendable>(_ work: @escaping @Sendable (RedisSession) -> Result) async -> Result? {
        try? await thread.runIfActive { [self] in
            RedisLink.blockPipeSignal()
            return work(self)
        }
    }

    /// Executes commands on the thread of the session, which must be the caller's.
    ///
    /// - Throws: ``RedisFault`` without a usable connection, and if the server cannot execute commands at all. The next call opens
    ///   a new connection.
    func call(
        _ commands: [[[UInt8]]],
        limits: RedisReplyReader.Limits,
        within limit: Duration? = nil
    ) throws(RedisFault) -> [RedisValue] {
        for _ in 0...Self.maxRedirections {
            let link = try open()
            guard var replies = link.exchange(commands, limits: limits, within: limit) else {
                state.withLockedValue { $0.link = nil }
                throw RedisFault(reason: link.fault)
            }
            if let refusal = replies.lazy.compactMap(\.refusal).first, let target = connector.target(of: refusal) {
                guard refusal.hasPrefix("ASK") else {
                    connector.move(to: target)
                    state.withLockedValue { $0.link = nil }
                    continue
                }
                // The slot is on its way to another server. Only these commands go there.
                let other = try connector.open(target)
                guard let asked = other.exchange([[Array("ASKING".utf8)]] + commands, limits: limits, within: limit)
                else {
                    throw RedisFault(reason: other.fault)
                }
                replies = Array(asked.dropFirst())
            }
            if let refusal = replies.lazy.compactMap(\.refusal).first(where: Self.isOfServer) {
                state.withLockedValue { $0.link = nil }
                throw RedisFault(reason: refusal)
            }
            return replies
        }
        throw RedisFault(reason: "the cluster redirects in a circle")
    }

    private func open() throws(RedisFault) -> RedisLink {
        if let link = state.withLockedValue({ $0.link }) { return link }
        let link = try connector.connect()
        let isEnded = state.withLockedValue { state in
            if !state.isEnded { state.link = link }
            return state.isEnded
        }
        guard !isEnded else { throw RedisFault(reason: "the connection was closed") }
        return link
    }

    /// Whether an error concerns the server rather than one command: another connection may work.
    private static func isOfServer(_ refusal: String) -> Bool {
        let words = [
            "READONLY", "LOADING", "MOVED", "ASK", "CLUSTERDOWN", "MASTERDOWN", "NOAUTH", "TRYAGAIN", "UNBLOCKED",
        ]
        return words.contains { refusal.hasPrefix($0) }
    }

    /// Ends the connection, and with it a running exchange. The next call opens a new one.
    func interrupt() { state.withLockedValue { $0.link }?.interrupt() }

    /// Ends the running exchange and the thread.
    func end() async {
        let link = state.withLockedValue { state in
            state.isEnded = true
            return state.link
        }
        link?.interrupt()
        try? await thread.shutdownGracefully()
        state.withLockedValue { $0.link = nil }
    }
}
#endif
