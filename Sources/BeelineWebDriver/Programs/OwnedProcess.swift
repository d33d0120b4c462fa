// SPDX-License-Identifier: Apache-2.0

import Dispatch
import NIOConcurrencyHelpers

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// A program that lives no longer than its owner, with whatever it has started: it leads a process group of its own, which
/// is ended as a whole.
final class OwnedProcess: Sendable {
    private struct State {
        /// Nil while it runs.
        var status: CInt?
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    /// The exit code of a program whose own was lost.
    static let unknownStatus: CInt = 255

    private let number: pid_t
    /// Guards what became of it. The thread that waits for the program holds it, and not the process.
    private let state: NIOLockedValueBox<State>

    /// Starts a program.
    ///
    /// - Parameters:
    ///   - arguments: its path, and its arguments.
    ///   - environment: all of its environment.
    ///   - output: the file that gets what it prints.
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
            // While it is not reaped its number is nobody else's: what it has started can be ended with it.
            var info = siginfo_t()
            while waitid(P_PID, id_t(number), &info, WEXITED | WNOWAIT) < 0, errno == EINTR {}
            kill(-number, SIGKILL)
            var status: CInt = 0
            var found = waitpid(number, &status, 0)
            while found < 0, errno == EINTR { found = waitpid(number, &status, 0) }
            // Where this process ignores SIGCHLD nobody is told how it ended: no success.
            let code = found == number ? ProgramLaunch.exitCode(status) : Self.unknownStatus
            let waiters = state.withLockedValue { state in
                defer { state.waiters = [] }
                state.status = code
                return state.waiters
            }
            for waiter in waiters { waiter.resume() }
        }
    }

    deinit { signal(SIGKILL) }

    /// Its exit code, 128 and more where it died of a signal; nil while it runs.
    var status: CInt? { state.withLockedValue { $0.status } }

    /// Returns when it has ended.
    func wait() async {
        await withCheckedContinuation { waiter in
            let isOver = state.withLockedValue { state in
                if state.status == nil { state.waiters.append(waiter) }
                return state.status != nil
            }
            if isOver { waiter.resume() }
        }
    }

    /// Returns when it has ended. The group is ended by force where it takes longer than `limit`, or the task is cancelled.
    func wait(atMost limit: DispatchTimeInterval) async {
        let force = killing(after: limit)
        await withTaskCancellationHandler {
            await wait()
        } onCancel: {
            signal(SIGKILL)
        }
        force.cancel()
    }

    /// Asks the group to end, and ends it by force where it takes too long.
    ///
    /// - Parameter patience: how long it has. Default 2 s.
    func end(within patience: DispatchTimeInterval = .seconds(2)) async {
        signal(SIGTERM)
        let force = killing(after: patience)
        await wait()
        force.cancel()
    }

    /// Ends the group by force after a time, unless that is cancelled.
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
