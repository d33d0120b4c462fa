// SPDX-License-Identifier: Apache-2.0

#if Redis
public import HTTPDNS
import NIOConcurrencyHelpers
import NIOPosix
import Names

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// Shares answers between resolvers through a Redis or Valkey server.
///
/// ```swift
/// let redis = RedisAnswers(RedisConfiguration())
/// var configuration = ResolverConfiguration(upstreams: upstreams)
/// configuration.shared = redis
/// let resolver = Resolver(configuration)
/// …
/// await resolver.shutdown()
/// await redis.shutDown()
/// ```
///
/// Connects at once. If the server is unavailable or too slow, each resolver continues without it and retries the server at
/// intervals. Questions never wait for a connection. Until the connection is up, they are answered without the server, and their
/// answers are shared once it is up.
///
/// A client with write access to the server can forge answers, so restrict the access.
public final class RedisAnswers: SharedAnswers {
    /// Commands and the continuation that waits for their replies.
    private struct Job {
        var commands: [[[UInt8]]]
        /// When the job leaves the queue without an answer. Nil for no limit.
        var limit: ContinuousClock.Instant?
        var waiter: CheckedContinuation<[RedisValue]?, Never>
    }

    private struct State {
        enum Link {
            /// The connection must not be tried before this time.
            case away(until: ContinuousClock.Instant)
            case connecting
            case up
        }

        var link = Link.connecting
        /// The pause after the next failure. It grows until the server answers a command, because a server that accepts
        /// connections but does not answer also counts as unavailable.
        var pause: Duration
        var waiting: [Job] = []
        /// Whether the thread is running and will process the queue.
        var isBusy = true
        var isClosed = false

        var isUp: Bool { if case .up = link { true } else { false } }
    }

    /// The maximum number of jobs in one batch. `patience` applies to a batch, so the batch must not grow with the queue.
    static let batchSize = 32

    private let configuration: RedisConfiguration
    private let clock = ContinuousClock()
    /// The only thread that talks to the server. Jobs that arrive in the meantime are sent as a batch.
    private let thread = NIOThreadPool(numberOfThreads: 1)
    /// Guards the state of the connection and the queue.
    private let state: NIOLockedValueBox<State>
    /// The connection. Used by the thread only, and by `shutDown()` after the thread has ended.
    let link = NIOLockedValueBox<RedisLink?>(nil)

    /// Starts to connect to a server, which may be unavailable.
    public init(_ configuration: RedisConfiguration) {
        self.configuration = configuration
        state = NIOLockedValueBox(State(pause: configuration.pause.lowerBound))
        thread.start()
        begin()
    }

    /// Whether the server was available at the last exchange.
    public var isConnected: Bool {
        state.withLockedValue { $0.isUp }
    }

    /// The number of jobs in the queue.
    var waiting: Int { state.withLockedValue { $0.waiting.count } }

    /// The pause after the next failure.
    var nextPause: Duration { state.withLockedValue { $0.pause } }

    /// Closes the connection. No answers are shared afterwards.
    public func shutDown() async {
        let waiting = state.withLockedValue { state in
            state.isClosed = true
            defer { state.waiting = [] }
            return state.waiting
        }
        for job in waiting { job.waiter.resume(returning: nil) }
        try? await thread.shutdownGracefully()
        link.withLockedValue { $0 = nil }
    }

    // MARK: Answers

    /// See `SharedAnswers`.
    public func answer(to question: Question, from upstream: String) async -> Answer? {
        let families = question.families.members
        let keys = families.map { key(question, $0, upstream) }
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
        let commands = question.families.members.compactMap { family -> [[UInt8]]? in
            guard let records = answer[family],
                let (text, ttl) = AnswerText.write(records, maxTTL: configuration.maxTTL)
            else { return nil }
            return [
                Array("SET".utf8), key(question, family, upstream), Array(text.utf8), Array("EX".utf8),
                Array("\(ttl.components.seconds)".utf8),
            ]
        }
        if !commands.isEmpty { _ = await ask(commands, waitsForConnection: true) }
    }

    private func key(_ question: Question, _ family: IPAddress.Family, _ upstream: String) -> [UInt8] {
        let subnet = question.subnet.map { "/\($0)" } ?? ""
        let type = family == .v4 ? "A" : "AAAA"
        return Array("\(configuration.prefix)\(upstream):\(type):\(question.host.text)\(subnet)".utf8)
    }

    // MARK: The connection

    /// Executes commands. Nil if the server is unavailable.
    private func ask(_ commands: [[[UInt8]]], waitsForConnection: Bool = false) async -> [RedisValue]? {
        await withCheckedContinuation { waiter in
            let (isTaken, mustStart) = state.withLockedValue { state -> (Bool, Bool) in
                guard !state.isClosed else { return (false, false) }
                if case .away(let until) = state.link {
                    guard until <= clock.now else { return (false, false) }
                    state.link = .connecting
                }
                let mustStart = !state.isBusy
                state.isBusy = true
                let isTaken = (waitsForConnection || state.isUp) && state.waiting.count < configuration.maxWaiting
                if isTaken {
                    let limit = waitsForConnection ? nil : clock.now + configuration.patience
                    state.waiting.append(Job(commands: commands, limit: limit, waiter: waiter))
                }
                return (isTaken, mustStart)
            }
            if !isTaken { waiter.resume(returning: nil) }
            if mustStart { begin() }
        }
    }

    /// Starts the work on the thread.
    private func begin() { thread.submit { [self] in if case .active = $0 { work() } } }

    /// Runs on the thread until the queue is empty.
    private func work() {
        Self.blockPipeSignal()
        link.withLockedValue { link in
            while let step = next() {
                switch step {
                case .connect:
                    link = RedisLink(configuration)
                    if link == nil { leaveAlone() } else { state.withLockedValue { $0.link = .up } }
                case .giveUp(let jobs):
                    for job in jobs { job.waiter.resume(returning: nil) }
                case .carryOut(let jobs):
                    let commands = jobs.flatMap(\.commands)
                    var replies = link?.exchange(commands)
                    if replies == nil, link?.wasCut ?? false {
                        // The server may have closed an idle connection or restarted, so retry once on a new connection.
                        link = RedisLink(configuration)
                        if link == nil { leaveAlone() }
                        replies = link?.exchange(commands)
                    }
                    if replies != nil {
                        state.withLockedValue { $0.pause = configuration.pause.lowerBound }
                    } else if link != nil {
                        link = nil
                        leaveAlone()
                    }
                    var rest = (replies ?? [])[...]
                    for job in jobs {
                        job.waiter.resume(returning: replies.map { _ in Array(rest.prefix(job.commands.count)) })
                        rest = rest.dropFirst(job.commands.count)
                    }
                }
            }
        }
    }

    /// The next step of the thread.
    private enum Step {
        case connect
        case carryOut([Job])
        /// The time limits of these jobs have passed.
        case giveUp([Job])
    }

    /// The next step. Nil if the thread has nothing to do.
    private func next() -> Step? {
        state.withLockedValue { state in
            if case .connecting = state.link, !state.isClosed { return .connect }
            guard !state.waiting.isEmpty else {
                state.isBusy = false
                return nil
            }
            let now = clock.now
            let late = state.waiting.filter { $0.limit ?? now < now }
            if !late.isEmpty {
                state.waiting.removeAll { $0.limit ?? now < now }
                return .giveUp(late)
            }
            let jobs = Array(state.waiting.prefix(Self.batchSize))
            state.waiting.removeFirst(jobs.count)
            return .carryOut(jobs)
        }
    }

    private func leaveAlone() {
        state.withLockedValue { state in
            state.link = .away(until: clock.now + state.pause)
            state.pause = min(state.pause * 2, configuration.pause.upperBound)
        }
    }

    /// hiredis writes to sockets that the server may have closed. An unblocked SIGPIPE would end the program.
    private static func blockPipeSignal() {
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGPIPE)
        pthread_sigmask(SIG_BLOCK, &signals, nil)
    }
}
#endif
