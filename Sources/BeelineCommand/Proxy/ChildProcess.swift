// SPDX-License-Identifier: Apache-2.0

import BeelineWebDriver
import Dispatch

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// A program that has our files, our terminal and our signals.
struct ChildProcess: Sendable {
    private let launch: ProgramLaunch

    /// - Parameters:
    ///   - arguments: the program and its arguments.
    ///   - environment: all of its environment.
    ///   - descriptors: what it gets beside its standard streams.
    init(_ arguments: [String], environment: [String: String], descriptors: InheritedDescriptors) {
        var launch = ProgramLaunch(arguments, environment: environment)
        launch.descriptors = descriptors
        self.launch = launch
    }

    /// Runs it to its end.
    ///
    /// - Returns: its exit code, 128 and the signal's number where it died of one, 127 where there is none and 126 where it
    ///   cannot be run, as a shell has it.
    func run() async -> Int32 {
        // What whoever started us has us ignore (nohup, a script's background) is ignored by the program as well.
        let forwarded = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2].filter { !Self.ignore($0) }
        var launch = launch
        launch.signals = forwarded
        let number: pid_t
        do throws(ProgramLaunch.Failure) {
            number = try launch.start()
        } catch {
            let status: Int32 = error.code == ENOENT ? 127 : 126
            CommandFailure(CommandStatus(rawValue: status), "\(launch.arguments[0]): \(error.reason)").print()
            return status
        }
        let sources = forwarded.map { signal in Self.forward(signal, to: number) }
        let status = await Self.wait(for: number)
        for source in sources { source.cancel() }
        return status
    }

    /// Ignores a signal; whether it was before.
    private static func ignore(_ number: CInt) -> Bool {
        // A handler is a C function, which Swift cannot compare; `SIG_IGN` is none but the number 1, in the place of one.
        unsafeBitCast(signal(number, SIG_IGN), to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
    }

    /// Sends a signal that we get on to the program. One that a terminal's key makes reaches the program by itself.
    private static func forward(_ number: CInt, to process: pid_t) -> any DispatchSourceSignal {
        let isOfTerminal = number == SIGINT || number == SIGQUIT
        let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
        source.setEventHandler {
            if isOfTerminal, isatty(STDIN_FILENO) == 1, tcgetpgrp(STDIN_FILENO) == getpgrp() { return }
            kill(process, number)
        }
        source.resume()
        return source
    }

    private static func wait(for process: pid_t) async -> Int32 {
        await withCheckedContinuation { continuation in
            DispatchQueue(label: "beeline.run").async {
                var status: CInt = 0
                while waitpid(process, &status, 0) < 0, errno == EINTR {}
                continuation.resume(returning: ProgramLaunch.exitCode(status))
            }
        }
    }
}
