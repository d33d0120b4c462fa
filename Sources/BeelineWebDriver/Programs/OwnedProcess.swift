// SPDX-License-Identifier: Apache-2.0

import Dispatch
import LibC
import NIOConcurrencyHelpers

/// A program that is killed when its owner is released, with all processes that it started. It leads its own process group,
/// which is killed as a whole.
final class OwnedProcess: Sendable {
    private struct State {
        /// Nil while the program runs.
        var status: CInt?
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    /// The exit code of a program whose status is unknown.
    static let unknownStatus: CInt = 255

    /// The process id of the program, which is also the number of its group.
    let number: pid_t
    /// Guards the status. The waiting thread holds this box, not the `OwnedProcess`.
    private let state: NIOLockedValueBox<State>

    /// Starts a program.
    ///
    /// - Parameters:
    ///   - arguments: the program's path and its arguments.
    ///   - environment: the complete environment.
    ///   - output: the file for its output.
    /// - Throws: ``WebDriverError`` with code `cannotStart`.
    init(_ arguments: [String], environment: [String: String], output: String) throws(WebDriverError) {
        var launch = ProgramLaunch(arguments, environment: environment)
        launch.output = output
        launch.leadsGroup = true
        do throws(ProgramLaunch.Failure) {
            number = try launch.start()
        } catch {
            throw WebDriverError(.cannotStart, "\(arguments[0]): \(error.reason)")
        }
        let state = NIOLockedValueBox(State())
        self.state = state
        DispatchQueue(label: "beeline.browser").async { [number] in
            // The process id cannot be reused before it is reaped, so the process group can be killed safely here.
            var info = siginfo_t()
            while waitid(P_PID, id_t(number), &info, WEXITED | WNOWAIT) < 0, errno == EINTR {}
            kill(-number, SIGKILL)
            // Reap under the lock: from then on, the id may belong to another process, and `signal` must not use it.
            let waiters = state.withLockedValue { state in
                var status: CInt = 0
                var found = waitpid(number, &status, 0)
                while found < 0, errno == EINTR { found = waitpid(number, &status, 0) }
                // If this process ignores SIGCHLD, the status is lost; treat it as a failure.
                state.status = found == number ? ProgramLaunch.exitCode(status) : Self.unknownStatus
                defer { state.waiters = [] }
                return state.waiters
            }
            for waiter in waiters { waiter.resume() }
        }
    }

    deinit { signal(SIGKILL) }

    /// The exit code, or 128 plus the signal's number; nil while the program runs.
    var status: CInt? { state.withLockedValue { $0.status } }

    /// Returns when the program has ended.
    func wait() async {
        await withCheckedContinuation { waiter in
            let isOver = state.withLockedValue { state in
                if state.status == nil { state.waiters.append(waiter) }
                return state.status != nil
            }
            if isOver { waiter.resume() }
        }
    }

    /// Returns when the program has ended. Kills the group after `limit` or on cancellation.
    func wait(atMost limit: DispatchTimeInterval) async {
        let force = killing(after: limit)
        await withTaskCancellationHandler {
            await wait()
        } onCancel: {
            signal(SIGKILL)
        }
        force.cancel()
    }

    /// Sends SIGTERM to the group, and kills it if the program does not end in time.
    ///
    /// - Parameter patience: the time until the kill. Default 2 s.
    func end(within patience: DispatchTimeInterval = .seconds(2)) async {
        signal(SIGTERM)
        let force = killing(after: patience)
        await wait()
        force.cancel()
    }

    /// Kills the group after a time, unless the timer is cancelled.
    private func killing(after time: DispatchTimeInterval) -> any DispatchSourceTimer {
        let timer = DispatchSource.makeTimerSource(queue: .global())
        timer.setEventHandler { [weak self] in self?.signal(SIGKILL) }
        timer.schedule(deadline: .now() + time)
        timer.resume()
        return timer
    }

    private func signal(_ signal: CInt) {
        state.withLockedValue { if $0.status == nil { _ = kill(-number, signal) } }
    }
}
