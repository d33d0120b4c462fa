// SPDX-License-Identifier: Apache-2.0

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
    private let arguments: [String]
    private let environment: [String: String]

    init(_ arguments: [String], environment: [String: String]) {
        self.arguments = arguments
        self.environment = environment
    }

    /// Runs it to its end.
    ///
    /// - Returns: its exit code, 128 and the signal's number where it died of one, 127 where there is none and 126 where it
    ///   cannot be run, as a shell has it.
    func run() async -> Int32 {
        let forwarded = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2]
        let number: pid_t
        switch spawn(defaulting: forwarded + [SIGPIPE]) {
        case .success(let process): number = process
        case .failure(let failure):
            let reason = String(cString: strerror(failure.code))
            CommandFailure(CommandStatus(rawValue: failure.status), "\(arguments[0]): \(reason)").print()
            return failure.status
        }
        let sources = forwarded.map { signal in Self.forward(signal, to: number) }
        let status = await Self.wait(for: number)
        for source in sources { source.cancel() }
        return status
    }

    private struct Failure: Error {
        let code: CInt
        var status: Int32 { code == ENOENT ? 127 : 126 }
    }

    private func spawn(defaulting signals: [CInt]) -> Result<pid_t, Failure> {
        var argv: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) } + [nil]
        var envp: [UnsafeMutablePointer<CChar>?] = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for pointer in argv + envp { free(pointer) } }
        #if canImport(Darwin)
        var attributes: posix_spawnattr_t?
        #else
        var attributes = posix_spawnattr_t()
        #endif
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // What we ignore for our own sake would be ignored by the program as well.
        var defaults = sigset_t()
        sigemptyset(&defaults)
        for signal in signals { sigaddset(&defaults, signal) }
        posix_spawnattr_setsigdefault(&attributes, &defaults)
        // And what the thread blocks on which we happen to be.
        var mask = sigset_t()
        sigemptyset(&mask)
        posix_spawnattr_setsigmask(&attributes, &mask)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK))
        var number = pid_t()
        let code = posix_spawnp(&number, arguments[0], nil, &attributes, &argv, &envp)
        return code == 0 ? .success(number) : .failure(Failure(code: code))
    }

    /// Sends a signal that we get on to the program. One that a terminal's key makes reaches the program by itself.
    private static func forward(_ number: CInt, to process: pid_t) -> any DispatchSourceSignal {
        signal(number, SIG_IGN)
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
                let signal = status & 0x7f
                continuation.resume(returning: signal == 0 ? status >> 8 & 0xff : 128 + signal)
            }
        }
    }
}
