// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Testing

@testable import BeelineCommand

@Suite("The command login")
struct LoginCommandTests {
    @Test func itsHelpOffersNoJarThatItRefuses() {
        let help = LoginCommand.helpMessage(columns: 200)
        #expect(help.contains("--jar <url>"))
        for text in [".txt", ".json", ".sqlite", "--max-cookies"] { #expect(!help.contains(text), "\(text)") }
    }

    @Test func itsHelpHasTheDefaultOfWaitOnce() {
        #expect(LoginCommand.helpMessage(columns: 200).ranges(of: "(default: 60").count == 1)
    }
}
