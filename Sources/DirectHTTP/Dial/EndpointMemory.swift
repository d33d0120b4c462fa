// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Names

/// Remembers which endpoints failed recently, as a value. A failed endpoint is tried last for a while.
///
/// It never excludes an endpoint: if all have failed, all are tried, ordered by the end of their pauses. A failed TCP connection
/// counts for every origin. A failed handshake, e.g. a wrong certificate, counts only for the origin that was dialled.
struct EndpointMemory: Sendable {
    private struct Key: Hashable {
        var endpoint: Endpoint
        /// Nil: for every origin.
        var origin: Origin?
    }

    private struct Failure {
        var count: Int
        var until: NIODeadline
    }

    private let pause: TimeAmount
    private let bound: Int
    private var failures: [Key: Failure] = [:]

    /// The longest pause as a multiple of ``DialSettings/failurePause``.
    static let maxFactor = 16

    init(_ settings: DialSettings) {
        pause = TimeAmount(limit: settings.failurePause)
        bound = max(0, settings.rememberedFailures)
    }

    /// How many failures are remembered.
    var count: Int { failures.count }

    mutating func forget() { failures = [:] }

    /// Working endpoints first, in their given order; then the failed ones, ordered by the end of their pauses.
    func ordered(_ endpoints: [Endpoint], for origin: Origin, now: NIODeadline) -> [Endpoint] {
        guard !failures.isEmpty, endpoints.count > 1 else { return endpoints }
        let rests = endpoints.map { rest(of: $0, for: origin, now: now) ?? .distantPast }
        return endpoints.indices.sorted { (rests[$0], $0) < (rests[$1], $1) }.map { endpoints[$0] }
    }

    mutating func record(_ attempt: Attempt, of origin: Origin, now: NIODeadline) {
        let everywhere = Key(endpoint: attempt.endpoint)
        let here = Key(endpoint: attempt.endpoint, origin: origin)
        if attempt.outcome == .connected {
            failures[everywhere] = nil
            failures[here] = nil
        } else if attempt.isFailure {
            remember(attempt.connect == nil ? everywhere : here, now: now)
        }
    }

    private func rest(of endpoint: Endpoint, for origin: Origin, now: NIODeadline) -> NIODeadline? {
        [failures[Key(endpoint: endpoint)], failures[Key(endpoint: endpoint, origin: origin)]]
            .compactMap { $0?.until }.filter { $0 > now }.max()
    }

    private mutating func remember(_ key: Key, now: NIODeadline) {
        guard bound > 0 else { return }
        if failures[key] == nil, failures.count >= bound {
            failures = failures.filter { $0.value.until > now }
            if failures.count >= bound, let first = failures.min(by: { $0.value.until < $1.value.until }) {
                failures[first.key] = nil
            }
        }
        // The pause doubles with each failure until a success. A failure whose pause ended long ago no longer counts.
        let known = failures[key].flatMap { $0.until + pause > now ? $0.count : nil } ?? 0
        let factor = min(1 << min(known, 30), Self.maxFactor)
        let (rest, isTooLong) = pause.nanoseconds.multipliedReportingOverflow(by: Int64(factor))
        failures[key] = Failure(count: known + 1, until: now + .nanoseconds(isTooLong ? .max : rest))
    }
}
