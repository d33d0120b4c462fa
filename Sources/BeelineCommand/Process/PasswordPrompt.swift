// SPDX-License-Identifier: Apache-2.0

import LibC

/// Asks for a password on the terminal, without showing what is typed.
///
/// getpass(3) of Linux turns off the keys for signals, so that Ctrl-C would become a part of the password.
enum PasswordPrompt {
    /// The maximum size of a line of a terminal on Linux.
    private static let maxLine = 4_096

    /// Returns the line that the user types, without its end; nil if the process has no terminal.
    static func ask(_ prompt: String) -> [UInt8]? {
        guard let input = try? FileDescriptor.open(reading: "/dev/tty") else { return nil }
        defer { try? input.close() }
        guard let output = try? FileDescriptor.open("/dev/tty", .append) else { return nil }
        defer { try? output.close() }
        let isHidden = hideTyped(on: input.number)
        defer { if isHidden { showTyped() } }
        try? output.write(prompt.utf8)
        // The end of the line is not shown either.
        defer { try? output.write("\n".utf8) }
        return line(from: input)
    }

    private static func line(from terminal: FileDescriptor) -> [UInt8] {
        var line: [UInt8] = []
        while line.count < maxLine, let piece = try? terminal.read(atMost: maxLine), !piece.isEmpty {
            if let end = piece.firstIndex(of: UInt8(ascii: "\n")) { return line + piece[..<end] }
            line += piece
        }
        return line
    }

    /// Stops showing what is typed, until ``showTyped()`` or a signal. Returns whether it is a terminal.
    private static func hideTyped(on number: CInt) -> Bool {
        var settings = termios()
        guard tcgetattr(number, &settings) == 0 else { return false }
        shownSettings = settings
        settings.c_lflag &= ~tcflag_t(ECHO)
        hiddenSettings = settings
        terminal = number
        // A signal that the parent has set to be ignored stays ignored.
        for number in [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP] where !Interruption.ignore(number) {
            handled |= 1 << UInt64(number)
            signal(number, handlePromptSignal)
        }
        tcsetattr(number, TCSAFLUSH, &settings)
        return true
    }

    /// Shows again what is typed, and restores the default action of the signals.
    private static func showTyped() {
        // If SIGTSTP comes now, its handler must not hide typed text again.
        hiddenSettings = shownSettings
        tcsetattr(terminal, TCSANOW, &shownSettings)
        for number in 1..<CInt(64) where handled & (1 << UInt64(number)) != 0 { signal(number, SIG_DFL) }
        handled = 0
    }
}

/// The terminal of the prompt. A handler can use only globals.
@exclusivity(unchecked) nonisolated(unsafe) private var terminal: CInt = -1
/// The settings of the terminal before and during the prompt.
@exclusivity(unchecked) nonisolated(unsafe) private var shownSettings = termios()
@exclusivity(unchecked) nonisolated(unsafe) private var hiddenSettings = termios()
/// The signals that have the handler, one bit each.
@exclusivity(unchecked) nonisolated(unsafe) private var handled: UInt64 = 0

/// Shows again what is typed, then lets the signal end or stop the process. It calls only functions that are allowed in a
/// handler.
private func handlePromptSignal(_ number: CInt) {
    let error = errno
    // In the background, this call would stop the process again (SIGTTOU) instead of letting the signal end it. Typed text
    // is shown already since the process was stopped.
    if tcgetpgrp(terminal) == getpgrp() { tcsetattr(terminal, TCSANOW, &shownSettings) }
    signal(number, SIG_DFL)
    raise(number)
    // The signal is blocked while its handler runs.
    var signals = sigset_t()
    sigemptyset(&signals)
    sigaddset(&signals, number)
    pthread_sigmask(SIG_UNBLOCK, &signals, nil)
    // A stopped process goes on here.
    signal(number, handlePromptSignal)
    tcsetattr(terminal, TCSANOW, &hiddenSettings)
    errno = error
}
