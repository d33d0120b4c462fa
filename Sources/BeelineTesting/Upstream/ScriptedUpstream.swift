// SPDX-License-Identifier: Apache-2.0

public import HTTPDNS
import NIOConcurrencyHelpers

/// An upstream that plays a script, one step for each question, and records the questions. It throws if there is no step.
///
/// ```swift
/// let upstream = ScriptedUpstream("one", .answer(Answer(v4: .addresses([address], ttl: .seconds(60)))), .silence)
/// let resolver = Resolver(ResolverConfiguration(upstreams: [upstream]), clock: ManualClock())
/// …
/// #expect(upstream.questions.map(\.host.text) == ["www.example.com"])
/// ```
public final class ScriptedUpstream: Upstream {
    /// The response to a question.
    public enum Step: Sendable {
        /// Returns the answer.
        case answer(Answer)
        /// Throws the error.
        case fail(UpstreamError)
        /// Returns the answer after the gate opens.
        case hold(Gate, Answer)
        /// Waits until the question is cancelled.
        case silence
    }

    private struct State {
        var steps: [Step]
        var questions: [Question] = []
        var cancelled = 0
        var unscripted = 0
    }

    /// The name in resolutions and errors.
    public let name: String
    /// The kind of upstream to simulate.
    public let kind: UpstreamKind
    /// Whether each question asks for one record type only.
    public let answersOneFamily: Bool
    private let standing: (@Sendable (Question) -> Step)?
    private let state: NIOLockedValueBox<State>

    /// Creates an upstream that plays these steps in order.
    ///
    /// - Parameters:
    ///   - name: The name in resolutions and errors.
    ///   - kind: The kind of upstream to simulate.
    ///   - oneFamily: The value of ``answersOneFamily``. Default false.
    ///   - steps: The steps.
    public init(_ name: String, kind: UpstreamKind = .service, oneFamily: Bool = false, _ steps: Step...) {
        self.name = name
        self.kind = kind
        answersOneFamily = oneFamily
        standing = nil
        state = NIOLockedValueBox(State(steps: steps))
    }

    /// Creates an upstream that calls `step` for each question.
    ///
    /// - Parameters:
    ///   - name: The name in resolutions and errors.
    ///   - kind: The kind of upstream to simulate.
    ///   - oneFamily: The value of ``answersOneFamily``. Default false.
    ///   - step: Returns the response to a question.
    public init(
        _ name: String,
        kind: UpstreamKind = .service,
        oneFamily: Bool = false,
        always step: @escaping @Sendable (Question) -> Step
    ) {
        self.name = name
        self.kind = kind
        answersOneFamily = oneFamily
        standing = step
        state = NIOLockedValueBox(State(steps: []))
    }

    /// The recorded questions.
    public var questions: [Question] { state.withLockedValue { $0.questions } }

    /// The number of cancelled questions.
    package var cancelled: Int { state.withLockedValue { $0.cancelled } }

    /// The number of questions without a step.
    public var unscripted: Int { state.withLockedValue { $0.unscripted } }

    /// Appends a step to the script.
    public func add(_ step: Step) {
        state.withLockedValue { $0.steps.append(step) }
    }

    /// Plays the next step.
    public func answer(_ question: Question) async throws(UpstreamError) -> Answer {
        let scripted = state.withLockedValue { state -> Step? in
            state.questions.append(question)
            guard standing == nil else { return nil }
            guard state.steps.isEmpty else { return state.steps.removeFirst() }
            state.unscripted += 1
            return nil
        }
        // Called without the lock: the test's closure may use this upstream.
        switch standing?(question) ?? scripted {
        case .answer(let answer): return answer
        case .fail(let error): throw error
        case .hold(let gate, let answer):
            try await wait(gate)
            return answer
        case .silence:
            try await wait(Gate())
            throw UpstreamError(.cancelled, "cancelled")
        case nil:
            throw UpstreamError(.misconfigured, "\(name) was asked for \(question.host) without a script")
        }
    }

    private func wait(_ gate: Gate) async throws(UpstreamError) {
        do {
            try await gate.wait()
        } catch {
            state.withLockedValue { $0.cancelled += 1 }
            throw UpstreamError(.cancelled, "cancelled")
        }
    }
}
