// SPDX-License-Identifier: Apache-2.0

#if Redis
public import HTTPDNS
import NIOConcurrencyHelpers
import NIOPosix
import Names

/// Shares answers between resolvers through a Redis or Valkey server.
///
/// ```swift
/// let redis = RedisAnswers(RedisConfiguration())
/// var configuration = ResolverConfiguration(upstreams: upstreams)
/// configuration.cache.shared = redis
/// let resolver = Resolver(configuration)
/// …
/// await resolver.shutDown()
/// await redis.shutDown()
/// ```
///
/// Connects at once. If the server is unavailable or too slow, each resolver continues without it and retries the
/// server at intervals. Questions never wait for a connection. Until the connection is up, they are answered without
/// the server, and their answers are shared once it is up. A server that refuses commands, such as a read-only replica,
/// counts as unavailable.
///
/// A client with write access to the server can forge answers, so restrict the access.
public final class RedisAnswers: SharedAnswers {
    /// Commands and the continuation that waits for their replies.
    struct Job {
        /// The effect of the commands.
        enum Kind {
            case read
            /// They write an answer. Nothing waits for it, so they may wait for the connection.
            case share
            /// They add to a counter, so they must not be executed twice.
            case count
        }

        var commands: [RedisCommand]
        var kind: Kind
        /// When the job leaves the queue without an answer.
        var limit: ContinuousClock.Instant
        /// The caller that waits; nil if none does.
        var waiter: Int?
    }

    struct State {
        enum Link {
            /// The connection must not be tried before this time.
            case away(until: ContinuousClock.Instant)
            case connecting
            case up
        }

        var link = Link.connecting
        /// The pause after the next failure. It grows until the server answers a command, because a server that accepts
        /// connections but does not answer also counts as unavailable.
        var pause: RetryPause
        var waiting: [Job] = []
        /// The callers that wait for the replies of a job, queued or under way.
        var waiters: [Int: CheckedContinuation<[RedisValue]?, Never>] = [:]
        var lastWaiter = 0
        /// Whether the thread is running and will process the queue.
        var isBusy = true
        var isClosed = false

        /// Whether the server refused a command. A read-only replica still answers reads, so only a successful
        /// write resets it.
        var isRefused = false
        /// The reasons that were reported since the server worked.
        var reported: Set<String> = []

        var isUp: Bool { if case .up = link { true } else { false } }
    }

    /// The maximum number of jobs in one batch. `timeout` applies to a batch, so the batch must not grow with the
    /// queue.
    static let batchSize = 32
    /// How long an answer waits to be shared.
    static let shareLimit = Duration.seconds(5)
    /// The maximum number of reasons to remember, because the server may choose them.
    static let maxReported = 8

    let configuration: RedisConfiguration
    let clock = ContinuousClock()
    /// The only thread that talks to the server. Jobs that arrive in the meantime are sent as a batch.
    let thread = NIOThreadPool(numberOfThreads: 1)
    let connector: RedisConnector
    /// Guards the state of the connection and the queue.
    let state: NIOLockedValueBox<State>
    /// The connections. Used by the thread only, and by `shutDown()` after the thread has ended.
    let links: NIOLockedValueBox<AnswerLinks>

    /// Starts to connect to a server, which may be unavailable.
    public convenience init(_ configuration: RedisConfiguration) {
        self.init(configuration) { SystemUpstream.getAddresses(of: $0, families: .both) }
    }

    /// - Parameter lookUp: Looks up the server's name. May block for any time.
    init(_ configuration: RedisConfiguration, lookUp: @escaping RedisHostLookup.LookUp) {
        self.configuration = configuration
        state = NIOLockedValueBox(State(pause: RetryPause(configuration.retryDelay)))
        connector = RedisConnector(configuration, lookUp: lookUp)
        links = NIOLockedValueBox(AnswerLinks(connector, retryDelay: configuration.retryDelay))
        thread.start()
        begin()
    }

    deinit {
        connector.end()
        // The thread would otherwise keep its pool, and stay.
        thread.shutdownGracefully { _ in }
    }

    /// Whether the server was available at the last exchange.
    public var isConnected: Bool {
        state.withLockedValue { $0.isUp }
    }

    /// The number of jobs in the queue.
    var waiting: Int { state.withLockedValue { $0.waiting.count } }

    /// The pause after the next failure.
    var nextPause: Duration { state.withLockedValue { $0.pause.current } }

    /// Closes the connection. No answers are shared afterwards.
    public func shutDown() async {
        let waiting = state.withLockedValue { state in
            state.isClosed = true
            defer { state.waiting = [] }
            return state.waiting
        }
        for job in waiting { resume(job, with: nil) }
        connector.end()
        try? await thread.shutdownGracefully()
        links.withLockedValue { $0.close() }
    }

    // MARK: Answers

    /// See `SharedAnswers`.
    public func answer(to question: Question, from upstream: String) async -> Answer? {
        let families = question.families.members
        let keys = families.map { key(question, family: $0, upstream: upstream) }
        let get = Array("GET".utf8)
        let left = Array("PTTL".utf8)
        guard let replies = await ask(keys.flatMap { [[get, $0], [left, $0]] }) else { return nil }
        var answer = Answer()
        for (index, family) in families.enumerated() {
            guard case .octets(let octets) = replies[index * 2], case .integer(let left) = replies[index * 2 + 1],
                let records = AnswerText.read(octets, family, left: .milliseconds(left))
            else { return nil }
            answer[family] = records
        }
        return answer
    }

    /// See `SharedAnswers`.
    public func share(_ answer: Answer, to question: Question, from upstream: String) async {
        let commands = question.families.members.compactMap { family -> RedisCommand? in
            guard let records = answer[family],
                let (text, ttl) = AnswerText.write(records, maxTTL: configuration.maxTTL)
            else { return nil }
            return [
                Array("SET".utf8), key(question, family: family, upstream: upstream), Array(text.utf8),
                Array("EX".utf8),
                Array("\(ttl.components.seconds)".utf8),
            ]
        }
        if !commands.isEmpty { _ = await ask(commands, .share) }
    }

    private func key(_ question: Question, family: IPAddress.Family, upstream: String) -> [UInt8] {
        let subnet = question.subnet.map { "/\($0)" } ?? ""
        let type = family == .v4 ? "A" : "AAAA"
        return Array("\(configuration.prefix)\(upstream):\(type):\(question.host.text)\(subnet)".utf8)
    }
}
#endif
