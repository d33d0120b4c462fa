// SPDX-License-Identifier: Apache-2.0

import NIOCore

/// Decides when to try which endpoint (RFC 8305 §5), as a value without sockets, timers or a clock.
///
/// The first endpoint is dialled at once, the next after each `stagger` or as soon as one fails. Only TCP connections are raced.
/// One connected endpoint at a time does its handshake (TLS, or a proxy's CONNECT); the others stay in reserve. If the handshake
/// fails or takes longer than `handshakeStagger`, the race continues. At `limit`, the oldest attempt ends before the next.
/// The caller ends the race when a handshake is done.
struct RacePlan {
    enum Event: Equatable {
        case start
        /// The instant of the last `.wake` has come.
        case timer
        case connected(Int)
        case failed(Int)
    }

    enum Action: Equatable {
        case dial(Int)
        /// End the attempt, which counts as failed.
        case drop(Int)
        case handshake(Int)
        /// Send `.timer` at this instant, and cancel the previous timer.
        case wake(NIODeadline)
        /// All endpoints failed.
        case giveUp
    }

    private enum CandidateState: Equatable {
        case connecting
        case reserve
        case handshaking(since: NIODeadline)
        case failed
    }

    private let count: Int
    private let limit: Int
    private let stagger: TimeAmount
    private let handshakeStagger: TimeAmount
    private var candidates: [CandidateState] = []

    init(count: Int, limit: Int? = nil, stagger: TimeAmount, handshakeStagger: TimeAmount) {
        self.count = count
        self.limit = limit ?? count
        self.stagger = stagger
        self.handshakeStagger = handshakeStagger
    }

    mutating func handle(_ event: Event, now: NIODeadline) -> [Action] {
        switch event {
        case .start:
            return dialNext(now: now)
        case .timer:
            if let since = handshakeStart, now < since + handshakeStagger { return [.wake(since + handshakeStagger)] }
            return beginReserve(now: now) ?? dialNext(now: now)
        case .connected(let index):
            if let since = handshakeStart, now < since + handshakeStagger {
                candidates[index] = .reserve
                return []
            }
            candidates[index] = .handshaking(since: now)
            return [.handshake(index), .wake(now + handshakeStagger)]
        case .failed(let index):
            candidates[index] = .failed
            if let since = handshakeStart, now < since + handshakeStagger { return [] }
            if let reserve = beginReserve(now: now) { return reserve }
            return dialNext(now: now)
        }
    }

    /// When the latest handshake began.
    private var handshakeStart: NIODeadline? {
        candidates.lazy.compactMap { if case .handshaking(let since) = $0 { since } else { nil } }.max()
    }

    private mutating func beginReserve(now: NIODeadline) -> [Action]? {
        guard let index = candidates.firstIndex(of: .reserve) else { return nil }
        candidates[index] = .handshaking(since: now)
        return [.handshake(index), .wake(now + handshakeStagger)]
    }

    private mutating func dialNext(now: NIODeadline) -> [Action] {
        guard candidates.count < count else {
            return candidates.allSatisfy({ $0 == .failed }) ? [.giveUp] : []
        }
        var actions: [Action] = []
        if candidates.count(where: { $0 != .failed }) >= limit,
            let oldest = candidates.firstIndex(where: { $0 != .failed })
        {
            candidates[oldest] = .failed
            actions.append(.drop(oldest))
        }
        candidates.append(.connecting)
        actions.append(.dial(candidates.count - 1))
        if candidates.count < count { actions.append(.wake(now + stagger)) }
        return actions
    }
}
