// SPDX-License-Identifier: Apache-2.0

import BeelineWebDriver
import Dispatch
import LibC
import NIOConcurrencyHelpers

/// A child process with our standard streams, terminal and signals.
struct ChildProcess: Sendable {
    private let launch: ProgramLaunch

    /// - Parameters:
    ///   - arguments: the program and its arguments.
    ///   - environment: the complete environment.
    ///   - descriptors: the inherited file descriptors besides the standard streams.
    init(_ arguments: [String], environment: [String: String], descriptors: InheritedDescriptors) {
        var launch = ProgramLaunch(arguments, environment: environment)
        launch.descriptors = descriptors
        self.launch = launch
    }

    /// Runs the program until it exits. Cancellation asks it to end (SIGTERM).
    ///
    /// - Returns: its exit code, or the shell's codes: 128 plus the signal's number if a signal ended it, 127 if the program
    ///   does not exist, and 126 if it cannot be run.
    func run() async -> Int32 {
        // Signals that the parent has set to be ignored (nohup, background jobs) stay ignored in the program.
        let forwarded = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2].filter { !Interruption.ignore($0) }
        let target = SignalTarget()
        var launch = launch
        launch.signals = forwarded
        // Receive signals before the start, so that none is lost.
        let signals: ReceivedSignals
        do throws(FileDescriptor.Failure) {
            signals = try ReceivedSignals(forwarded) { Self.forward($0, mayBeKey: $1, to: target) }
        } catch {
            return fail(error.code, error.description)
        }
        defer { signals.stop() }
        let number: pid_t
        do throws(ProgramLaunch.Failure) {
            number = try launch.start()
        } catch {
            return fail(error.code, error.reason)
        }
        target.begin(number)
        return await withTaskCancellationHandler {
            await Self.wait(for: number, target)
        } onCancel: {
            target.send(SIGTERM)
        }
    }

    /// Prints why the program cannot be run. Returns the shell's exit code for it.
    private func fail(_ code: CInt, _ reason: String) -> Int32 {
        let status: Int32 = code == ENOENT ? 127 : 126
        CommandFailure(CommandStatus(rawValue: status), "\(launch.arguments[0]): \(reason)").print()
        return status
    }

    /// Forwards a signal to the program. The terminal sends the signals of its keys to the program directly.
    private static func forward(_ number: CInt, mayBeKey: Bool, to target: SignalTarget) {
        let hasKey = number == SIGINT || number == SIGQUIT
        if hasKey, mayBeKey, isInForeground { return }
        target.send(number)
    }

    /// Whether our process group is in the terminal's foreground. Uses /dev/tty, because standard input may be redirected.
    private static var isInForeground: Bool {
        guard let terminal = try? FileDescriptor.open(reading: "/dev/tty") else { return false }
        defer { try? terminal.close() }
        return tcgetpgrp(terminal.number) == getpgrp()
    }

    private static func wait(for process: pid_t, _ target: SignalTarget) async -> Int32 {
        await withCheckedContinuation { continuation in
            DispatchQueue(label: "beeline.run").async {
                // The process id cannot be reused before it is reaped.
                var info = siginfo_t()
                while waitid(P_PID, id_t(process), &info, WEXITED | WNOWAIT) < 0, errno == EINTR {}
                target.end()
                var status: CInt = 0
                while waitpid(process, &status, 0) < 0, errno == EINTR {}
                continuation.resume(returning: ProgramLaunch.exitCode(status))
            }
        }
    }
}

/// The process that receives signals. Signals before its start are queued.
private final class SignalTarget: Sendable {
    private enum State {
        case notStarted([CInt])
        case running(pid_t)
        case ended
    }

    /// Guards the process id, which must not be used after the process is reaped.
    private let state = NIOLockedValueBox(State.notStarted([]))

    func begin(_ process: pid_t) {
        state.withLockedValue { state in
            if case .notStarted(let signals) = state { for signal in signals { kill(process, signal) } }
            state = .running(process)
        }
    }

    func send(_ signal: CInt) {
        state.withLockedValue { state in
            switch state {
            case .notStarted(let signals) where !signals.contains(signal): state = .notStarted(signals + [signal])
            case .running(let process): kill(process, signal)
            case .notStarted, .ended: break
            }
        }
    }

    func end() { state.withLockedValue { $0 = .ended } }
}
