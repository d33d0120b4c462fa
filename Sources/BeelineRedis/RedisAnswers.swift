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

/// Answers that resolvers share by a Redis or Valkey server.
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
/// It connects at once. While the server is away, or too slow, each resolver goes on alone, and the server is tried again at
/// times. No question ever waits for a connection: those before it stands go without, and what they bring is shared then.
///
/// Who may write to the server may answer for the upstreams: let nobody else have it.
public final class RedisAnswers: SharedAnswers {
    /// Commands, and who waits for their replies.
    private struct Job {
        var commands: [[[UInt8]]]
        /// Until when it may wait for its turn; nil: for as long as need be.
        var limit: ContinuousClock.Instant?
        var waiter: CheckedContinuation<[RedisValue]?, Never>
    }

    private struct State {
        enum Link {
            /// Not to be tried before.
            case away(until: ContinuousClock.Instant)
            case connecting
            case up
        }

        var link = Link.connecting
        /// For how long the server is left alone after the next failure. It grows until the server has answered: one that takes
        /// connections and says nothing is away, too.
        var pause: Duration
        var waiting: [Job] = []
        /// Whether the thread is at work, so that it will look for what waits.
        var isBusy = true
        var isClosed = false

        var isUp: Bool { if case .up = link { true } else { false } }
    }

    /// Jobs that go out together. The patience is that of one batch, so it must not grow with what waits.
    static let batchSize = 32

    private let configuration: RedisConfiguration
    private let clock = ContinuousClock()
    /// The one thread that speaks to the server. What waits while it does goes out in batches.
    private let thread = NIOThreadPool(numberOfThreads: 1)
    /// Guards the state of the connection and what waits.
    private let state: NIOLockedValueBox<State>
    /// The connection. Only the thread takes it, and who shuts down when the thread has ended.
    let link = NIOLockedValueBox<RedisLink?>(nil)

    /// Answers by a server, which need not be there.
    public init(_ configuration: RedisConfiguration) {
        self.configuration = configuration
        state = NIOLockedValueBox(State(pause: configuration.pause.lowerBound))
        thread.start()
        begin()
    }

    /// Whether the server was there when it was last spoken to.
    public var isConnected: Bool {
        state.withLockedValue { $0.isUp }
    }

    /// What waits for its turn.
    var waiting: Int { state.withLockedValue { $0.waiting.count } }

    /// For how long the server is left alone after the next failure.
    var nextPause: Duration { state.withLockedValue { $0.pause } }

    /// Closes the connection; from then on nothing is shared.
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

    /// Has commands carried out; nil where there is no server now.
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

    /// Sets the thread to work.
    private func begin() { thread.submit { [self] in if case .active = $0 { work() } } }

    /// Runs on the thread, until nothing waits.
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
                        // The server closes connections that are idle, and may have begun anew: it is asked over another one.
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

    /// What the thread does next.
    private enum Step {
        case connect
        case carryOut([Job])
        /// Their time is over.
        case giveUp([Job])
    }

    /// Nil: the thread may rest.
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

    /// The library writes to sockets that the server may have closed; the signal of that would end the program.
    private static func blockPipeSignal() {
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGPIPE)
        pthread_sigmask(SIG_BLOCK, &signals, nil)
    }
}
#endif
