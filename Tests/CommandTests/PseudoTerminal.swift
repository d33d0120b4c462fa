// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Runs programs on a pseudo-terminal, with a Python script.
enum PseudoTerminal {
    /// Runs a program and returns when it has ended. The result's `text` is its output to the terminal.
    static func run(_ arguments: [String], in folder: Folder) async throws -> CommandRun {
        let program = """
            import os, pty, sys
            number, terminal = pty.fork()
            if number == 0:
                os.execvp(sys.argv[1], sys.argv[1:])
            while True:
                try:
                    piece = os.read(terminal, 4096)
                except OSError:
                    break
                if not piece:
                    break
                sys.stdout.buffer.write(piece)
            sys.stdout.flush()
            sys.exit(os.waitstatus_to_exitcode(os.waitpid(number, 0)[1]) % 256)
            """
        return try await CommandRun.run("/usr/bin/python3", ["-c", program] + arguments, in: folder)
    }

    /// Runs a program whose standard input is empty, and types a line on its terminal after it has printed `prompt`.
    static func answer(
        _ line: String,
        to prompt: String,
        _ arguments: [String],
        in folder: Folder
    ) async throws -> CommandRun {
        let program = """
            import os, pty, sys
            number, terminal = pty.fork()
            if number == 0:
                os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
                os.execvp(sys.argv[3], sys.argv[3:])
            seen = b""
            typed = False
            while True:
                try:
                    piece = os.read(terminal, 4096)
                except OSError:
                    break
                if not piece:
                    break
                seen += piece
                if not typed and sys.argv[2].encode() in seen:
                    typed = True
                    os.write(terminal, sys.argv[1].encode() + b"\\n")
            sys.stdout.buffer.write(seen)
            sys.stdout.flush()
            sys.exit(os.waitstatus_to_exitcode(os.waitpid(number, 0)[1]) % 256)
            """
        return try await CommandRun.run("/usr/bin/python3", ["-c", program, line, prompt] + arguments, in: folder)
    }

    /// Runs a program whose standard input is empty, and presses a key on its terminal after it has printed `prompt`. The
    /// result's `text` is the exit code of the program, negative for a signal, and whether the terminal shows typed text then.
    static func press(
        _ key: String,
        at prompt: String,
        _ arguments: [String],
        in folder: Folder
    ) async throws -> CommandRun {
        let program = """
            import fcntl, os, pty, sys, termios
            terminal, inner = pty.openpty()
            number = os.fork()
            if number == 0:
                os.setsid()
                fcntl.ioctl(inner, termios.TIOCSCTTY, 0)
                os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
                os.dup2(inner, 1)
                os.dup2(inner, 2)
                os.execvp(sys.argv[3], sys.argv[3:])
            seen = b""
            while sys.argv[2].encode() not in seen:
                seen += os.read(terminal, 4096)
            os.write(terminal, sys.argv[1].encode())
            code = os.waitstatus_to_exitcode(os.waitpid(number, 0)[1])
            print(code, termios.tcgetattr(inner)[3] & termios.ECHO != 0)
            """
        return try await CommandRun.run("/usr/bin/python3", ["-c", program, key, prompt] + arguments, in: folder)
    }

    /// Runs a program as a job of a shell, presses Ctrl-Z after it has printed `prompt`, and ends it with SIGTERM while it is in
    /// the background. The result's `text` is the name of the signal that stopped the program and whether the terminal shows
    /// typed text then, and in a second line the name of the signal that ended or stopped it after that.
    static func stopAndEnd(
        at prompt: String,
        _ arguments: [String],
        in folder: Folder
    ) async throws -> CommandRun {
        let program = """
            import fcntl, os, pty, signal, sys, termios
            terminal, inner = pty.openpty()
            shell = os.fork()
            if shell != 0:
                sys.exit(os.waitstatus_to_exitcode(os.waitpid(shell, 0)[1]) % 256)
            os.setsid()
            fcntl.ioctl(inner, termios.TIOCSCTTY, 0)
            # A background group may give the terminal to another group only if it ignores this signal.
            signal.signal(signal.SIGTTOU, signal.SIG_IGN)
            number = os.fork()
            if number == 0:
                os.setpgid(0, 0)
                os.tcsetpgrp(inner, os.getpid())
                signal.signal(signal.SIGTTOU, signal.SIG_DFL)
                os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
                os.dup2(inner, 1)
                os.dup2(inner, 2)
                os.execvp(sys.argv[2], sys.argv[2:])
            seen = b""
            while sys.argv[1].encode() not in seen:
                seen += os.read(terminal, 4096)
            os.write(terminal, b"\\x1a")
            status = os.waitpid(number, os.WUNTRACED)[1]
            shows = termios.tcgetattr(inner)[3] & termios.ECHO != 0
            print(signal.Signals(os.WSTOPSIG(status)).name, shows)
            os.tcsetpgrp(inner, os.getpgrp())
            os.kill(number, signal.SIGTERM)
            os.kill(number, signal.SIGCONT)
            status = os.waitpid(number, os.WUNTRACED)[1]
            if os.WIFSTOPPED(status):
                os.kill(number, signal.SIGKILL)
                print("stopped by", signal.Signals(os.WSTOPSIG(status)).name)
            else:
                print("ended by", signal.Signals(os.WTERMSIG(status)).name)
            """
        return try await CommandRun.run("/usr/bin/python3", ["-c", program, prompt] + arguments, in: folder)
    }

    /// Starts a program that prints its signals with `beeline run` on a terminal, presses Ctrl-C, and after the program has
    /// printed that signal, sends SIGQUIT, SIGINT and SIGUSR1 to `beeline`, each after the program has printed the previous one.
    /// SIGINT is not sent first: the kernel joins it with that of the key if `beeline` has not received that yet.
    ///
    /// - Parameter input: the file for the standard input of `beeline`.
    static func signals(input: String, in folder: Folder) async throws -> CommandRun {
        let child = """
            import signal
            signals = {signal.SIGINT, signal.SIGQUIT, signal.SIGUSR1}
            signal.pthread_sigmask(signal.SIG_BLOCK, signals)
            print("ready", flush=True)
            while True:
                got = signal.sigwaitinfo(signals)
                print(signal.Signals(got.si_signo).name, "sent" if got.si_pid else "key", flush=True)
                if got.si_signo == signal.SIGUSR1:
                    break
            """
        let parent = """
            import os, pty, signal, sys
            number, terminal = pty.fork()
            if number == 0:
                script = 'exec "$0" run -- python3 -c "$1" <' + sys.argv[3]
                os.execvp("sh", ["sh", "-c", script, sys.argv[1], sys.argv[2]])
            seen = b""
            def until(mark):
                global seen
                while mark not in seen:
                    seen += os.read(terminal, 4096)
            until(b"ready")
            os.write(terminal, b"\\x03")
            until(b"SIGINT key")
            for name in ["SIGQUIT", "SIGINT", "SIGUSR1"]:
                os.kill(number, signal.Signals[name])
                until(name.encode() + b" sent")
            status = os.waitpid(number, 0)[1]
            sys.stdout.buffer.write(seen)
            sys.exit(os.waitstatus_to_exitcode(status) % 256)
            """
        let arguments = ["-c", parent, CommandRun.beeline, child, input]
        return try await CommandRun.run("/usr/bin/python3", arguments, in: folder)
    }
}
