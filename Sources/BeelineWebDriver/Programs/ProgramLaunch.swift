// SPDX-License-Identifier: Apache-2.0

package import LibC

/// Starts a program with the default action for ``signals`` and with no signal blocked, whatever this process ignores or
/// blocks. The program gets only the given descriptors: if it inherited a listening socket, the port would seem to be served
/// after this process has closed it.
package struct ProgramLaunch: Sendable {
    /// The bound of the descriptor numbers that are passed on or closed.
    private static let descriptorLimit: CInt = 1024

    /// The program and its arguments. A name without a slash is searched in `PATH`.
    package var arguments: [String]
    /// The complete environment.
    package var environment: [String: String]
    /// The file for the program's output; its input is then empty. Nil: the program has our standard streams. Default nil.
    package var output: String?
    /// The descriptors to pass on besides the standard streams, each below 1024. Default none.
    package var descriptors = InheritedDescriptors()
    /// Whether the program leads its own process group. Default false.
    package var leadsGroup = false
    /// The signals that get their default action, even if this process ignores them. Default: those that end a program.
    package var signals = [SIGINT, SIGTERM, SIGHUP, SIGQUIT]

    package init(_ arguments: [String], environment: [String: String]) {
        self.arguments = arguments
        self.environment = environment
    }

    /// The error of a failed start.
    package struct Failure: Error {
        /// The error number, as in `errno`.
        package let code: CInt
        /// The system's message for the error.
        package var reason: String { String(cString: strerror(code)) }
    }

    /// The descriptors that this process inherited. Read it before opening any descriptor without close-on-exec.
    package static var inherited: InheritedDescriptors {
        InheritedDescriptors(among: STDERR_FILENO + 1..<descriptorLimit)
    }

    /// Returns the exit code of a `waitpid` status; 128 plus the signal's number if a signal ended the program.
    package static func exitCode(_ status: CInt) -> CInt {
        let signal = status & 0x7f
        return signal == 0 ? status >> 8 & 0xff : 128 + signal
    }

    /// The entries of this process's environment by their text, to pass on octets that are not UTF-8. The text has U+FFFD for
    /// them. Empty on Apple platforms, where programs pass the text.
    private static var ownEnvironment: [String: UnsafeMutablePointer<CChar>] {
        #if canImport(Darwin)
        return [:]
        #else
        // A mutable global variable, which Swift does not let concurrent code use by its name.
        typealias List = UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>
        let list = dlsym(nil, "environ")?.assumingMemoryBound(to: List?.self).pointee
        var entries: [String: UnsafeMutablePointer<CChar>] = [:]
        var index = 0
        while let entry = list?[index] {
            entries[String(cString: entry)] = entry
            index += 1
        }
        return entries
        #endif
    }

    /// Starts the program.
    ///
    /// - Returns: the process id.
    package func start() throws(Failure) -> pid_t {
        var argv: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) } + [nil]
        let own = Self.ownEnvironment
        var envp = environment.map { name, value -> UnsafeMutablePointer<CChar>? in
            let text = "\(name)=\(value)"
            guard let entry = own[text] else { return strdup(text) }
            return strdup(entry)
        }
        envp.append(nil)
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
        // NIO ignores SIGPIPE in this process.
        for signal in signals + [SIGPIPE] { sigaddset(&defaults, signal) }
        posix_spawnattr_setsigdefault(&attributes, &defaults)
        // The current thread may block signals.
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

    /// POSIX_SPAWN_CLOEXEC_DEFAULT closes all descriptors except these.
    private func keepBack(_ actions: inout Actions) {
        let standard = output == nil ? [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] : []
        for number in standard + descriptors.numbers { posix_spawn_file_actions_addinherit_np(&actions, number) }
    }
    #else
    private typealias Actions = posix_spawn_file_actions_t
    private typealias CloseFrom = @convention(c) (UnsafeMutablePointer<Actions>, CInt) -> CInt

    /// Closes all descriptors from a number on. Glibc has it since 2.34, behind a macro that Swift does not set.
    private static let closeFrom: CloseFrom? = dlsym(nil, "posix_spawn_file_actions_addclosefrom_np").map {
        // dlsym returns an untyped address. This type matches the declaration in spawn.h.
        unsafeBitCast($0, to: CloseFrom.self)
    }

    private func keepBack(_ actions: inout Actions) {
        let descriptors = descriptors.numbers
        let last = Self.closeFrom == nil ? Self.descriptorLimit : (descriptors.max() ?? STDERR_FILENO) + 1
        // addclose ignores descriptors that are not open.
        for number in STDERR_FILENO + 1..<last where !descriptors.contains(number) {
            posix_spawn_file_actions_addclose(&actions, number)
        }
        _ = Self.closeFrom?(&actions, last)
    }
    #endif
}
