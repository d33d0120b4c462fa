// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// `beeline cookies replay`: runs cases from standard input and prints their answers.
struct CookiesReplay: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "replay",
        abstract: "Run test cases from standard input, one JSON line each, and print one JSON line for each."
    )

    func run() throws {
        let replay = CookieReplay()
        while let line = readLine() {
            if line.allSatisfy(\.isWhitespace) { continue }
            try StandardOutput.writeLine(replay.answer(line))
        }
    }
}
