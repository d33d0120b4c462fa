// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineTesting
import Foundation
import Testing

extension ProcessTests {
    /// The password of `-u USER`.
    struct PasswordPromptTests {
        /// `me:secret`.
        private static let login = "Basic bWU6c2VjcmV0"

        @Test("-u USER asks on the terminal although standard input is redirected", .timeLimit(.minutes(1)))
        func redirectedInput() async throws {
            let lab = try await CommandLab { _ in .text("ok") }
            let line = [CommandRun.beeline, "-s", "-S", "-u", "me", lab.plainURL()]
            let run = try await PseudoTerminal.answer("secret", to: "for user 'me':", line, in: lab.folder)
            #expect(run.status == 0 && !run.text.contains("secret"), "\(run.text)\(run.errors)")
            #expect(lab.plain.requests.last?.fields[.authorization] == Self.login)
            await lab.stop()
        }

        @Test("Ctrl-C at the prompt ends the command, and the terminal shows typed text again", .timeLimit(.minutes(1)))
        func interruptedPrompt() async throws {
            let lab = try await CommandLab { _ in .text("ok") }
            let line = [CommandRun.beeline, "-s", "-S", "-u", "me", lab.plainURL()]
            let run = try await PseudoTerminal.press("\u{3}", at: "for user 'me':", line, in: lab.folder)
            #expect(run.text == "-2 True\n", "\(run.errors)")
            #expect(lab.plain.requests.isEmpty)
            await lab.stop()
        }

        @Test(
            "Ctrl-Z at the prompt stops the command, and SIGTERM in the background then ends it",
            .timeLimit(.minutes(1))
        )
        func stoppedPrompt() async throws {
            let lab = try await CommandLab { _ in .text("ok") }
            let line = [CommandRun.beeline, "-s", "-S", "-u", "me", lab.plainURL()]
            let run = try await PseudoTerminal.stopAndEnd(at: "for user 'me':", line, in: lab.folder)
            #expect(run.text == "SIGTSTP True\nended by SIGTERM\n", "\(run.errors)")
            await lab.stop()
        }

        @Test("without a terminal, -u USER reads the password from standard input", .timeLimit(.minutes(1)))
        func noTerminal() async throws {
            let lab = try await CommandLab { _ in .text("ok") }
            let program = "import os, sys; os.setsid(); os.execvp(sys.argv[1], sys.argv[1:])"
            let line = ["-c", program, CommandRun.beeline, "-s", "-S", "-u", "me", lab.plainURL()]
            let input = Data("secret\nrest".utf8)
            let run = try await CommandRun.run("/usr/bin/python3", line, in: lab.folder, input: input)
            #expect(run.status == 0 && run.text == "ok", "\(run.errors)")
            #expect(run.errors == "Enter host password for user 'me':\n")
            #expect(lab.plain.requests.last?.fields[.authorization] == Self.login)
            let empty = try await CommandRun.run("/usr/bin/python3", line, in: lab.folder)
            #expect(empty.status == 64 && empty.errors.contains("no terminal"), "\(empty.errors)")
            let count = lab.plain.requests.count
            let other = Data("caf".utf8) + Data([0xE9, 0x0A])
            let latin = try await CommandRun.run("/usr/bin/python3", line, in: lab.folder, input: other)
            #expect(latin.status == 64 && latin.errors.contains("-u: the password is not UTF-8"), "\(latin.errors)")
            #expect(lab.plain.requests.count == count, "no password with U+FFFD is sent")
            await lab.stop()
        }
    }
}
