// SPDX-License-Identifier: Apache-2.0

#if canImport(Darwin)
package import Darwin
#elseif canImport(Musl)
package import Musl
#else
package import Glibc
#endif

/// A program that is to be started. It finds signals as a program expects them, whatever this process ignores or blocks, and
/// has none of our descriptors but those that it is given: sockets are none of its business, and as long as it held one that
/// listens, its port would seem to be served.
package struct ProgramLaunch: Sendable {
    /// Descriptors are given and kept back by their number up to this one.
    private static let descriptorLimit: CInt = 1024

    /// The program, which is looked for in `PATH` where it is no path, and its arguments.
    package var arguments: [String]
    /// All of its environment.
    package var environment: [String: String]
    /// The file that gets what it prints, while there is nothing for it to read; nil: it has our standard streams.
    /// Default nil.
    package var output: String?
    /// The descriptors that it gets beside its standard streams, each below 1024. Default none.
    package var descriptors = InheritedDescriptors()
    /// Whether it leads a process group of its own. Default false.
    package var leadsGroup = false
    /// The signals that it does not ignore, although we may. Default: those that ask a program to end.
    package var signals = [SIGINT, SIGTERM, SIGHUP, SIGQUIT]

    package init(_ arguments: [String], environment: [String: String]) {
        self.arguments = arguments
        self.environment = environment
    }

    /// Why a program was not started.
    package struct Failure: Error {
        /// What `errno` would be.
        package let code: CInt
        /// The system's words for it.
        package var reason: String { String(cString: strerror(code)) }
    }

    /// The descriptors that this process was started with, as long as it has opened none that outlives an `exec`.
    package static var inherited: InheritedDescriptors {
        InheritedDescriptors(among: STDERR_FILENO + 1..<descriptorLimit)
    }

    /// The exit code in what `waitpid` says: 128 and more where a signal ended the program.
    package static func exitCode(_ status: CInt) -> CInt {
        let signal = status & 0x7f
        return signal == 0 ? status >> 8 & 0xff : 128 + signal
    }

    /// Starts the program.
    ///
    /// - Returns: the process's number.
    package func start() throws(Failure) -> pid_t {
        var argv: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) } + [nil]
        var envp: [UnsafeMutablePointer<CChar>?] = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for pointer in argv + envp { free(pointer) } }
        #if canImport(Darwin)
        var attributes: posix_spawnattr_t?
        var actions: Actions = nil
        #else
        var attributes = posix_spawnattr_t()
        var actions = Actions()
        #endif
        posix_spawnattr_init(&attributes)
        posix_spawn_file_actions_init(&actions)
        defer {
            posix_spawnattr_destroy(&attributes)
            posix_spawn_file_actions_destroy(&actions)
        }
        if let output {
            posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
            posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output, O_WRONLY | O_CREAT | O_APPEND, 0o600)
            posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO)
        }
        keepBack(&actions)
        var defaults = sigset_t()
        sigemptyset(&defaults)
        // NIO ignores SIGPIPE for its own sake.
        for signal in signals + [SIGPIPE] { sigaddset(&defaults, signal) }
        posix_spawnattr_setsigdefault(&attributes, &defaults)
        // Whatever thread this is may block some.
        var mask = sigset_t()
        sigemptyset(&mask)
        posix_spawnattr_setsigmask(&attributes, &mask)
        posix_spawnattr_setpgroup(&attributes, 0)
        var flags = POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK
        if leadsGroup { flags |= POSIX_SPAWN_SETPGROUP }
        #if canImport(Darwin)
        flags |= POSIX_SPAWN_CLOEXEC_DEFAULT
        #endif
        posix_spawnattr_setflags(&attributes, Int16(flags))
        var number = pid_t()
        let code = posix_spawnp(&number, arguments[0], &actions, &attributes, &argv, &envp)
        guard code == 0 else { throw Failure(code: code) }
        return number
    }

    #if canImport(Darwin)
    private typealias Actions = posix_spawn_file_actions_t?

    /// A flag of the launch closes all; these are excepted.
    private func keepBack(_ actions: inout Actions) {
        let standard = output == nil ? [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] : []
        for number in standard + descriptors.numbers { posix_spawn_file_actions_addinherit_np(&actions, number) }
    }
    #else
    private typealias Actions = posix_spawn_file_actions_t
    private typealias CloseFrom = @convention(c) (UnsafeMutablePointer<Actions>, CInt) -> CInt

    /// Closes all descriptors from one on. Glibc has it since 2.34, behind a macro that Swift does not set.
    private static let closeFrom: CloseFrom? = dlsym(nil, "posix_spawn_file_actions_addclosefrom_np").map {
        // dlsym has no types: this is the one of the declaration in spawn.h, and C functions are plain addresses.
        unsafeBitCast($0, to: CloseFrom.self)
    }

    private func keepBack(_ actions: inout Actions) {
        let descriptors = descriptors.numbers
        let last = Self.closeFrom == nil ? Self.descriptorLimit : (descriptors.max() ?? STDERR_FILENO) + 1
        // One that is not open is no error there.
        for number in STDERR_FILENO + 1..<last where !descriptors.contains(number) {
            posix_spawn_file_actions_addclose(&actions, number)
        }
        _ = Self.closeFrom?(&actions, last)
    }
    #endif
}
