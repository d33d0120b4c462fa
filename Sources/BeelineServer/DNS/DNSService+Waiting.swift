// SPDX-License-Identifier: Apache-2.0

import HTTPDNS
import NIOConcurrencyHelpers
import NIOCore
import Names

/// Questions that wait for upstreams: which are admitted, and which wait for an equal one.
extension DNSService {
    /// The decision on a question that needs an upstream.
    enum Admission {
        case first
        /// Another question asks this machine's resolver for the same name. The stream ends when that is answered.
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

    /// The maximum number of refusals a second that a client gets over UDP. A refusal tells a program at once to try
    /// another server. In a flood, refusals cost more than the questions, and forged sources must not receive them all.
    static let maxRefusals: Double = 1_000

    /// Whether a further question may wait for upstreams.
    func hasRoom(_ transport: Transport) -> Bool {
        state.withLockedValue { $0.waiting < maxPendingQuestions(transport) }
    }

    /// A flood over UDP with forged sources leaves a quarter of the places to TCP and TLS, where no source is forged.
    private func maxPendingQuestions(_ transport: Transport) -> Int {
        let most = configuration.maxPendingQuestions
        return transport == .udp ? most - most / 4 : most
    }

    /// Handles a question that cannot be looked up now.
    ///
    /// - Parameter stale: An answer past its TTL.
    func refusal(of arrival: Arrival, stale: ServerAnswer?) -> MessageHandling {
        let isTold = state.withLockedValue { state in
            state.counters.busy += 1
            guard stale == nil, arrival.transport == .udp else { return true }
            return state.refusals.allows(arrival.client, now: Int64(clamping: arrival.time.uptimeNanoseconds))
        }
        return isTold ? .reply(reply(to: arrival, with: stale ?? Self.busy)) : .silence
    }

    /// Counts a question that waits for upstreams, unless there are too many.
    func admit(_ arrival: Arrival, _ system: DNSQuestion?, of subscriber: Subscriber?) -> Admission {
        state.withLockedValue { state -> Admission in
            let own = subscriber.map { state.waitingOf[$0] } ?? 0
            guard state.waiting < maxPendingQuestions(arrival.transport), own < configuration.waitingPerClient else {
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
            if let subscriber { state.waitingOf.add(subscriber) }
            state.waiting += 1
            return admission
        }
    }

    /// Records that a question was answered.
    func left(_ system: DNSQuestion?, of subscriber: Subscriber?) {
        let joined = state.withLockedValue { state in
            if let subscriber { state.waitingOf.remove(subscriber) }
            return system.flatMap { state.askingSystem.removeValue(forKey: $0)?.joined } ?? []
        }
        for continuation in joined { continuation.finish() }
    }

    /// Waits until a stream ends. Returns false if that takes too long.
    static func hasEnded(_ stream: AsyncStream<Void>, within limit: Duration) async -> Bool {
        await firstResult(within: limit) {
            for await _ in stream {}
            return !Task.isCancelled
        } ?? false
    }
}
