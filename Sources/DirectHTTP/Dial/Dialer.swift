// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Names

/// Opens one connection. It runs a ``DialRace`` on an event loop for a waiting task, which may be cancelled.
struct Dialer: Sendable {
    var target: DialTarget
    var list: EndpointList
    /// The endpoints of the source that are not dialled.
    let avoided: Set<Endpoint>
    let resolveTime: Duration
    let settings: DialSettings
    let pending: PendingDials
    /// Called for each attempt as soon as its outcome is known.
    let attempted: @Sendable (Attempt) -> Void
    /// The attempts at the endpoints of earlier lists.
    var earlier: [Attempt] = []

    /// A dial may be cancelled before its race begins.
    private enum RaceState {
        case waiting
        case racing(DialRace)
        case cancelled
    }

    /// Dials, and calls `make` with the winner's channel on its event loop before any byte is read.
    func dial<Made: Sendable>(
        on loop: any EventLoop,
        deadline: NIODeadline?,
        make: @escaping @Sendable (DialRace.RaceResult, ConnectionInfo) -> Result<Made, DirectHTTPError>
    ) async throws(DirectHTTPError) -> Made {
        typealias Outcome = Result<Made, DirectHTTPError>
        let state = NIOLoopBoundBox.makeBoxSendingValue(RaceState.waiting, eventLoop: loop)
        let cancel: @Sendable () -> Void = {
            loop.execute {
                guard case .racing(let race) = state.value else { return state.value = .cancelled }
                race.cancel()
            }
        }
        guard let id = pending.add(cancel) else { throw .shutDown }
        defer { pending.remove(id) }
        let outcome = await waitCancellably { (waiter: UnsafeContinuation<Outcome, Never>) in
            loop.execute {
                let race = DialRace(
                    on: loop,
                    to: list.endpoints,
                    of: target,
                    after: earlier,
                    settings: settings,
                    deadline: deadline,
                    services: list.services,
                    ended: attempted
                ) { result in
                    state.value = .waiting
                    waiter.resume(
                        returning: result.flatMap { won in
                            make(won, ConnectionInfo(won, context: list.context, resolveTime: resolveTime))
                        }
                    )
                }
                guard case .waiting = state.value else { return race.cancel() }
                state.value = .racing(race)
                race.start()
            }
        } onCancel: {
            cancel()
        }
        do {
            return try outcome.get()
        } catch {
            let isShutDown = error.code == .cancelled && pending.isShutDown && !Task.isCancelled
            throw isShutDown ? .shutDown.with(attempts: error.attempts) : error
        }
    }
}
