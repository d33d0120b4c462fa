// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// `beeline cookies replay`: runs cases from standard input and prints their answers.
struct CookiesReplay: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "replay",
        abstract: "Run cases from standard input, a JSON line each, and print a JSON line for each."
    )

    func run() throws {
        let replay = CookieReplay()
        while let line = readLine() {
            if line.allSatisfy(\.isWhitespace) { continue }
            try StandardOutput.writeLine(replay.answer(line))
        }
    }
}
