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
        number = try Self.spawn(arguments, environment, output)
        let state = NIOLockedValueBox(State())
        self.state = state
        DispatchQueue(label: "beeline.browser").async { [number] in
            // While it is not reaped its number is nobody else's: what it has started can be ended with it.
            var info = siginfo_t()
            while waitid(P_PID, id_t(number), &info, WEXITED | WNOWAIT) < 0, errno == EINTR {}
            kill(-number, SIGKILL)
            var status: CInt = 0
            while waitpid(number, &status, 0) < 0, errno == EINTR {}
            let waiters = state.withLockedValue { state in
                defer { state.waiters = [] }
                state.status = status & 0x7f == 0 ? status >> 8 & 0xff : 128 + status & 0x7f
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

    /// Asks the group to end, and ends it by force where it takes too long.
    ///
    /// - Parameter patience: how long it has. Default 2 s.
    func end(within patience: DispatchTimeInterval = .seconds(2)) async {
        signal(SIGTERM)
        let force = DispatchSource.makeTimerSource(queue: .global())
        force.setEventHandler { [weak self] in self?.signal(SIGKILL) }
        force.schedule(deadline: .now() + patience)
        force.resume()
        await wait()
        force.cancel()
    }

    private func signal(_ signal: CInt) {
        state.withLockedValue { if $0.status == nil { _ = kill(-number, signal) } }
    }

    private typealias CloseFrom = @convention(c) (UnsafeMutablePointer<Actions>, CInt) -> CInt

    #if canImport(Darwin)
    private typealias Actions = posix_spawn_file_actions_t?
    /// Darwin has a flag for it.
    private static let closeFrom: CloseFrom? = nil
    #else
    private typealias Actions = posix_spawn_file_actions_t
    /// Has the child close all descriptors from one on. Glibc has it since 2.34, behind a macro that Swift does not set.
    private static let closeFrom: CloseFrom? = dlsym(nil, "posix_spawn_file_actions_addclosefrom_np").map {
        // dlsym has no types: this is the one of the declaration in spawn.h, and C functions are plain addresses.
        unsafeBitCast($0, to: CloseFrom.self)
    }
    #endif

    private static func spawn(
        _ arguments: [String],
        _ environment: [String: String],
        _ output: String
    ) throws(WebDriverError) -> pid_t {
        var argv: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) } + [nil]
        var envp: [UnsafeMutablePointer<CChar>?] = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for pointer in argv + envp { free(pointer) } }
        #if canImport(Darwin)
        var attributes: posix_spawnattr_t?
        var actions: posix_spawn_file_actions_t?
        #else
        var attributes = posix_spawnattr_t()
        var actions = posix_spawn_file_actions_t()
        #endif
        posix_spawnattr_init(&attributes)
        posix_spawn_file_actions_init(&actions)
        defer {
            posix_spawnattr_destroy(&attributes)
            posix_spawn_file_actions_destroy(&actions)
        }
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output, O_WRONLY | O_CREAT | O_APPEND, 0o600)
        posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO)
        // Our sockets are none of its business; and as long as it held one that listens, its port would seem to be served.
        _ = closeFrom?(&actions, 3)
        // What this process ignores or blocks is its own affair.
        var defaults = sigset_t()
        sigemptyset(&defaults)
        for signal in [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE] { sigaddset(&defaults, signal) }
        posix_spawnattr_setsigdefault(&attributes, &defaults)
        var mask = sigset_t()
        sigemptyset(&mask)
        posix_spawnattr_setsigmask(&attributes, &mask)
        posix_spawnattr_setpgroup(&attributes, 0)
        #if canImport(Darwin)
        let apart = POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_CLOEXEC_DEFAULT
        #else
        let apart = POSIX_SPAWN_SETPGROUP
        #endif
        let flags = POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | apart
        posix_spawnattr_setflags(&attributes, Int16(flags))
        var number = pid_t()
        let code = posix_spawn(&number, arguments[0], &actions, &attributes, &argv, &envp)
        guard code == 0 else {
            throw WebDriverError(.cannotStart, "\(arguments[0]): \(String(cString: strerror(code)))")
        }
        return number
    }
}
