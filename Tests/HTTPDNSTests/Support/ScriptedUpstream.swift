// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import HTTPDNS
import NIOConcurrencyHelpers
import Names
import Testing

/// An upstream that plays a script: a step a question. It fails the test when it is asked without one.
final class ScriptedUpstream: Upstream {
    enum Step: Sendable {
        case answer(Answer)
        case fail(UpstreamError)
        /// Answers when the test says so.
        case hold(Gate, Answer)
        /// Says nothing until it is cancelled.
        case silence
    }

    let name: String
    let kind: UpstreamKind
    let answersOneFamily: Bool
    private let state: NIOLockedValueBox<(steps: [Step], questions: [Question], cancelled: Int)>
    private let standing: (@Sendable (Question) -> Step)?

    init(_ name: String, kind: UpstreamKind = .service, oneFamily: Bool = false, _ steps: Step...) {
        self.name = name
        self.kind = kind
        answersOneFamily = oneFamily
        standing = nil
        state = NIOLockedValueBox((steps, [], 0))
    }

    init(_ name: String, kind: UpstreamKind = .service, always step: @escaping @Sendable (Question) -> Step) {
        self.name = name
        self.kind = kind
        answersOneFamily = false
        standing = step
        state = NIOLockedValueBox(([], [], 0))
    }

    /// What was asked so far.
    var questions: [Question] { state.withLockedValue { $0.questions } }
    /// Questions that were cancelled.
    var cancelled: Int { state.withLockedValue { $0.cancelled } }

    func add(_ step: Step) {
        state.withLockedValue { $0.steps.append(step) }
    }

    func answer(_ question: Question) async throws(UpstreamError) -> Answer {
        let step = state.withLockedValue { state -> Step? in
            state.questions.append(question)
            if let standing { return standing(question) }
            return state.steps.isEmpty ? nil : state.steps.removeFirst()
        }
        switch step {
        case .answer(let answer): return answer
        case .fail(let error): throw error
        case .hold(let gate, let answer):
            guard (try? await gate.wait()) != nil else {
                state.withLockedValue { $0.cancelled += 1 }
                throw UpstreamError(.cancelled, "cancelled")
            }
            return answer
        case .silence:
            _ = try? await Gate().wait()
            state.withLockedValue { $0.cancelled += 1 }
            throw UpstreamError(.cancelled, "cancelled")
        case nil:
            Issue.record("\(name) was asked for \(question) without a script")
            throw UpstreamError(.unsupported, "no script")
        }
    }
}

/// A transport that plays a script and notes its requests.
final class ScriptedTransport: UpstreamTransport {
    typealias Reply = Result<UpstreamReply, UpstreamError>

    private let state: NIOLockedValueBox<(replies: [Reply], requests: [UpstreamRequest])>

    init(_ replies: Reply...) {
        state = NIOLockedValueBox((replies, []))
    }

    var requests: [UpstreamRequest] { state.withLockedValue { $0.requests } }

    func exchange(_ request: UpstreamRequest) async throws(UpstreamError) -> UpstreamReply {
        let reply = state.withLockedValue { state -> Reply? in
            state.requests.append(request)
            return state.replies.isEmpty ? nil : state.replies.removeFirst()
        }
        guard let reply else {
            Issue.record("a request without a script: \(request)")
            throw UpstreamError(.unsupported, "no script")
        }
        return try reply.get()
    }
}

extension Result where Success == UpstreamReply, Failure == UpstreamError {
    static func text(_ text: String, status: Int = 200) -> Self {
        .success(UpstreamReply(status: status, body: Array(text.utf8)))
    }

    static func octets(_ octets: [UInt8], status: Int = 200) -> Self {
        .success(UpstreamReply(status: status, body: octets))
    }
}

/// Ends a test's wait, polling an event that has no hook, without a sleep.
func until(_ condition: () -> Bool) async {
    while !condition() { await Task.yield() }
}

func v4(_ text: String, ttl: Int? = 60) -> Answer {
    Answer(v4: .addresses(addresses(text), ttl: ttl.map { .seconds($0) }))
}

func addresses(_ text: String) -> [IPAddress] {
    text.split(separator: " ").compactMap { IPAddress(String($0)) }
}

func host(_ text: String) -> Host {
    do { return try Host(text) } catch {
        Issue.record("not a host: \(text)")
        return Host(IPAddress(v4: 0))
    }
}

extension Answer {
    static func both(_ v4: String, _ v6: String, ttl: Int? = 60) -> Answer {
        let ttl = ttl.map { Duration.seconds($0) }
        return Answer(v4: .addresses(addresses(v4), ttl: ttl), v6: .addresses(addresses(v6), ttl: ttl))
    }
}
