// SPDX-License-Identifier: Apache-2.0

import HTTPDNS
import NIOConcurrencyHelpers
import Names

/// Questions that wait for upstreams: which are admitted, and which wait for an equal one.
extension DNSService {
    /// What becomes of a question that needs an upstream.
    enum Admission {
        case first
        /// Another question already asks this machine's resolver for the same name. The stream ends when that question
        /// is answered.
        case joined(AsyncStream<Void>)
        case refused(ServerAnswer)
        /// Too many questions wait for upstreams.
        case busy
        /// The client has sent its question again.
        case copy
    }

    static let busy = ServerAnswer(.serverFailure, source: "busy")
    static let loop = ServerAnswer(.refused, source: "loop", errors: [.prohibited])

    /// The maximum number of questions that wait for one private name.
    private static let maxJoined = 256

    /// Counts a question that waits for upstreams, unless there are too many.
    ///
    /// - Parameter hasRoom: Whether the upstreams take the question now. Without room, a task would only find that out.
    func admit(
        _ arrival: Arrival,
        _ system: DNSQuestion?,
        of subscriber: IPAddress?,
        hasRoom: Bool
    ) -> Admission {
        state.withLockedValue { admit(arrival, system, of: subscriber, hasRoom: hasRoom, in: &$0) }
    }

    private func admit(
        _ arrival: Arrival,
        _ system: DNSQuestion?,
        of subscriber: IPAddress?,
        hasRoom: Bool,
        in state: inout State
    ) -> Admission {
        let own = subscriber.flatMap { state.waitingOf[$0] } ?? 0
        guard hasRoom, state.waiting < configuration.maxWaiting, own < configuration.waitingPerClient else {
            state.counters.busy += 1
            return .busy
        }
        var admission = Admission.first
        if let system {
            let id = Array(arrival.query.octets.prefix(2))
            if let lookup = state.askingSystem[system] {
                // The reply to the first is on its way. A refusal of the copy would arrive before it.
                if arrival.transport == .udp, lookup.client == arrival.client, lookup.id == id { return .copy }
                guard lookup.joined.count < Self.maxJoined else { return .refused(Self.loop) }
                let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
                state.askingSystem[system]?.joined.append(continuation)
                admission = .joined(stream)
            } else {
                state.askingSystem[system] = SystemLookup(client: arrival.client, id: id)
            }
        }
        if let subscriber { state.waitingOf[subscriber] = own + 1 }
        state.waiting += 1
        return admission
    }

    /// Records that a question was answered.
    func left(_ system: DNSQuestion?, of subscriber: IPAddress?) {
        let joined = state.withLockedValue { state in
            if let subscriber, let own = state.waitingOf[subscriber] {
                state.waitingOf[subscriber] = own > 1 ? own - 1 : nil
            }
            return system.flatMap { state.askingSystem.removeValue(forKey: $0)?.joined } ?? []
        }
        for continuation in joined { continuation.finish() }
    }

    /// Waits until a stream ends. Returns false if that takes too long.
    static func hasEnded(_ stream: AsyncStream<Void>, within limit: Duration) async -> Bool {
        await withTaskGroup(of: Bool.self) { group in
            group.addTask {
                for await _ in stream {}
                return !Task.isCancelled
            }
            group.addTask {
                try? await ContinuousClock().sleep(for: limit)
                return false
            }
            defer { group.cancelAll() }
            return await group.next() ?? false
        }
    }
}
