// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineTesting
import Foundation
import Testing

@testable import BeelineCommand

/// Signal handling inside the test process.
struct InterruptionTests {
    @Test("a signal has its default action again after the work that handled it")
    func restoredAfterTheWork() async {
        // SIGURG does not end a process by default.
        let status = await Interruption.run(signals: [SIGURG]) { .ok }
        #expect(status == .ok)
        #expect(!Interruption.ignore(SIGURG))
        signal(SIGURG, SIG_DFL)
    }
}

extension ProcessTests {
    /// Signals, and signal settings and closed streams that the command inherits from its parent.
    struct SignalTests {
        @Test(
            "keys and sent signals reach a foreground program of `beeline run` once, whatever standard input is",
            .timeLimit(.minutes(2)),
            arguments: ["/dev/null", "/dev/tty"]
        )
        func foregroundSignals(_ input: String) async throws {
            let run = try await PseudoTerminal.signals(input: input, in: try Folder())
            #expect(run.status == 0, "\(run.errors)\(run.text)")
            // The terminal shows its keys at the start of the next line.
            let lines = run.text.split(whereSeparator: \.isNewline).filter { $0.contains("SIG") }.map {
                $0.drop { $0 != "S" }
            }
            #expect(lines == ["SIGINT key", "SIGQUIT sent", "SIGINT sent", "SIGUSR1 sent"], "\(run.text)")
        }

        @Test("beeline run returns the program's exit code even if its parent ignored SIGCHLD")
        func ignoredSIGCHLDLosesNoExitCode() async throws {
            let program =
                "import os, signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN); os.execv(sys.argv[1], sys.argv[1:])"
            let arguments = ["-c", program, CommandRun.beeline, "run", "--", "sh", "-c", "exit 3"]
            let run = try await CommandRun.run("/usr/bin/python3", arguments, in: try Folder())
            #expect(run.status == 3, "\(run.errors)")
        }

        @Test("one signal ends a fetch when standard output is blocked", .timeLimit(.minutes(1)))
        func blockedOutput() async throws {
            let lab = try await CommandLab { _ in .text(String(repeating: "x", count: 1 << 20)) }
            let pipe = "\(lab.folder.path)/pipe"
            #expect(mkfifo(pipe, 0o600) == 0)
            let reader = open(pipe, O_RDONLY | O_NONBLOCK)
            defer { close(reader) }
            let arguments = ["-c", "exec \"$0\" -s \"$1\" >pipe", CommandRun.beeline, lab.plainURL()]
            let run = try await CommandRun.run("/bin/sh", arguments, in: lab.folder) { process in
                var waiting: CInt = 0
                // The pipe is nearly full, and the next write blocks.
                while waiting < 49_152 {
                    try Task.checkCancellation()
                    await Task.yield()
                    _ = ioctl(reader, UInt(FIONREAD), &waiting)
                }
                kill(process, SIGTERM)
            }
            #expect(run.status == 128 + SIGTERM, "\(run.errors)")
            await lab.stop()
        }

        @Test("a signal that the parent ignored does not end a fetch", arguments: [("HUP", SIGHUP), ("INT", SIGINT)])
        func ignoredSignalsStayIgnored(_ name: String, _ signal: Int32) async throws {
            let gate = Gate()
            let lab = try await CommandLab { _ in
                Reply(fields: [.contentLength: "8"], body: ["half", .wait(gate), "rest"])
            }
            let script = "trap '' \(name); exec \"$0\" \"$1\""
            let arguments = ["-c", script, CommandRun.beeline, lab.plainURL()]
            let run = try await CommandRun.run("/bin/sh", arguments, in: lab.folder) { process in
                try await gate.arrivals(atLeast: 1)
                kill(process, signal)
                gate.open()
            }
            #expect(run.status == 0 && run.text == "halfrest", "\(run.errors)")
            await lab.stop()
        }

        @Test("with standard output closed, printed text is not written into the jar")
        func closedStreamsAreNoJar() async throws {
            let folder = try Folder()
            for jar in ["jar.sqlite", "jar.txt"] {
                let script = "exec \"$0\" cookies set --jar \(jar) https://a.test/ 'a=b' >&-"
                let run = try await CommandRun.run("/bin/sh", ["-c", script, CommandRun.beeline], in: folder)
                #expect(run.status == 23, "\(run.errors)")
                let list = try await CommandRun.run(CommandRun.beeline, ["cookies", "list", "--jar", jar], in: folder)
                #expect(list.status == 0 && list.text.contains("a=b") && list.errors.isEmpty, "\(list.errors)")
                #expect(try folder.data(jar).range(of: Data("kept".utf8)) == nil)
            }
        }
    }
}
