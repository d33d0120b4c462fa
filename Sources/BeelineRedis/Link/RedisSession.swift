// SPDX-License-Identifier: Apache-2.0

#if Redis
import NIOConcurrencyHelpers
import NIOPosix

/// A thread with a connection that is opened on demand. Runs one piece of work at a time.
final class RedisSession: Sendable {
    private struct State {
        var link: RedisLink?
        var isEnded = false
    }

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
    /// - Parameter reconnects: Whether to open a new connection and send the commands once more if the server has
    ///   closed the present one, as it does with an idle one and at a restart. The server may have executed them the
    ///   first time, so pass true only for commands that have the same result if they are executed twice, and that do
    ///   not depend on earlier ones.
    /// - Throws: ``RedisFault`` without a usable connection, and if the server cannot execute commands at all. The next
    ///   call opens a new connection.
    func call(
        _ commands: [RedisCommand],
        limits: RedisReplyReader.Limits,
        within limit: Duration? = nil,
        reconnects: Bool = false
    ) throws(RedisFault) -> [RedisValue] {
        // The server may have closed the connection meanwhile.
        if reconnects, let link = state.withLockedValue({ $0.link }), !link.isUsable { close(link) }
        var mayReconnect = reconnects && isOpen
        var redirections = 0
        while redirections <= RedisRedirection.maxCount {
            let link = try open()
            guard var replies = link.exchange(commands, limits: limits, within: limit) else {
                // An interrupted connection is no longer the present one.
                if close(link), mayReconnect, link.wasCut {
                    mayReconnect = false
                    continue
                }
                throw RedisFault(reason: link.fault)
            }
            let redirection = replies.lazy.compactMap(\.refusal).compactMap { RedisRedirection($0, from: link.host) }
                .first
            if let redirection {
                redirections += 1
                guard redirection.isTemporary else {
                    connector.move(to: redirection.target)
                    close(link)
                    continue
                }
                // The slot is being moved to another server. Only these commands go there.
                let other = try connector.open(redirection.target)
                guard let asked = other.exchange([[Array("ASKING".utf8)]] + commands, limits: limits, within: limit)
                else {
                    throw RedisFault(reason: other.fault)
                }
                replies = Array(asked.dropFirst())
            }
            if let refusal = replies.lazy.compactMap(\.refusal).first(where: Self.isOfServer) {
                close(link)
                throw RedisFault(reason: refusal)
            }
            return replies
        }
        throw RedisFault(reason: RedisRedirection.tooMany)
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

    /// Forgets a connection. Returns whether it was the present one.
    @discardableResult
    private func close(_ link: RedisLink) -> Bool {
        state.withLockedValue { state in
            guard state.link === link else { return false }
            state.link = nil
            return true
        }
    }

    /// Whether an error concerns the server rather than one command: another connection may work.
    private static func isOfServer(_ refusal: String) -> Bool {
        let words = [
            "READONLY", "LOADING", "MOVED", "ASK", "CLUSTERDOWN", "MASTERDOWN", "NOAUTH", "TRYAGAIN", "UNBLOCKED",
        ]
        return words.contains { refusal.hasPrefix($0) }
    }

    /// Ends the connection, and with it a running exchange. The next call opens a new one.
    func interrupt() { state.withLockedValue { $0.link.take() }?.interrupt() }

    /// Ends the running exchange and the thread.
    func end() async {
        state.withLockedValue { $0.isEnded = true }
        interrupt()
        try? await thread.shutdownGracefully()
    }
}
#endif
