// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers
import NIOCore
import Names

/// Opens one connection. It runs a ``DialRace`` on an event loop for a waiting task, which may be cancelled.
struct Dialer: Sendable {
    var target: DialTarget
    var list: EndpointList
    /// The endpoints that are not dialled although the source has them.
    let avoided: Set<Endpoint>
    let resolveTime: Duration
    let settings: DialSettings
    let pending: PendingDials
    /// Called for each attempt as soon as its outcome is known.
    let attempted: @Sendable (Attempt) -> Void
    /// The attempts at the endpoints of earlier lists.
    var earlier: [Attempt] = []

    /// Dials, and calls `make` with the winner's channel on its event loop before any byte is read.
    func dial<Made: Sendable>(
        on loop: any EventLoop,
        deadline: NIODeadline?,
        make: @escaping @Sendable (DialRace.Won, ConnectionInfo) -> Result<Made, DirectHTTPError>
    ) async throws(DirectHTTPError) -> Made {
        typealias Outcome = Result<Made, DirectHTTPError>
        let cancellation = RaceCancellation(loop: loop)
        guard let id = pending.add({ cancellation.cancel() }) else { throw .shutDown }
        defer { pending.remove(id) }
        let outcome = await waitCancellably { (waiter: UnsafeContinuation<Outcome, Never>) in
            loop.execute {
                let race = DialRace(
                    on: loop,
                    to: list.endpoints,
                    of: target,
                    settings: settings,
                    deadline: deadline,
                    ended: attempted
                ) { result in
                    cancellation.race = nil
                    waiter.resume(returning: result.flatMap { make($0, info(of: $0)) })
                }
                guard !cancellation.isCancelled else { return race.cancel() }
                cancellation.race = NIOLoopBound(race, eventLoop: loop)
                race.start()
            }
        } onCancel: {
            cancellation.cancel()
        }
        do {
            return try outcome.get()
        } catch {
            let isShutDown = error.code == .cancelled && pending.isShutDown && !Task.isCancelled
            var error = isShutDown ? .shutDown.with(attempts: error.attempts) : error
            error.attempts = earlier + error.attempts
            throw error
        }
    }

    private func info(of won: DialRace.Won) -> ConnectionInfo {
        ConnectionInfo(
            endpoint: won.winner.endpoint,
            localEndpoint: won.channel.localAddress.flatMap(Endpoint.init),
            attempts: earlier + won.attempts,
            context: list.context,
            applicationProtocol: won.applicationProtocol,
            resolveTime: resolveTime,
            connectTime: won.winner.start + (won.winner.connect ?? .zero),
            handshakeTime: target.steps.isEmpty ? nil : won.winner.handshake
        )
    }
}

/// Forwards the cancellation of a task to the race that it waits for.
private final class RaceCancellation: Sendable {
    private struct State {
        var isCancelled = false
        var race: NIOLoopBound<DialRace>?
    }

    private let loop: any EventLoop
    /// Guards the state shared by the task and the loop.
    private let state = NIOLockedValueBox(State())

    init(loop: any EventLoop) { self.loop = loop }

    var isCancelled: Bool { state.withLockedValue(\.isCancelled) }

    var race: NIOLoopBound<DialRace>? {
        get { state.withLockedValue(\.race) }
        set { state.withLockedValue { $0.race = newValue } }
    }

    func cancel() {
        state.withLockedValue { $0.isCancelled = true }
        loop.execute { [self] in race?.value.cancel() }
    }
}
