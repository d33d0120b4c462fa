// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import BeelineTesting

/// `beeline demo`: shows the main features on loopback.
struct DemoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "Demonstrate Beeline on this machine, without access to the network.",
        discussion: """
            Starts an HTTPDNS service, two HTTPS sites on one address and an impostor, all on loopback, and checks line by \
            line that requests reach the right site and stay logged in. Exits with 1 if a check fails.
            """
    )

    func run() async throws {
        let world: DemoWorld
        do {
            world = try await DemoWorld()
        } catch let error as TestingError {
            try StandardOutput.writeLine("The demo needs the addresses 127.0.0.11 to 127.0.0.66: \(error.message)")
            try StandardOutput.writeLine(
                "On macOS add them first: sudo ifconfig lo0 alias 127.0.0.11 (and .12, .13, .66)"
            )
            throw ExitCode(1)
        }
        let failures: Int
        do {
            failures = try await Self.runSteps(world)
        } catch {
            await world.stop()
            throw error
        }
        await world.stop()
        let count = DemoStory.steps.count
        try StandardOutput.writeLine(
            failures == 0 ? "All \(count) checks passed." : "\(failures) of \(count) checks failed."
        )
        if failures > 0 { throw ExitCode(1) }
    }

    /// Runs and prints all steps. Returns the number of failed steps.
    private static func runSteps(_ world: DemoWorld) async throws(CommandFailure) -> Int {
        var failures = 0
        for (index, step) in DemoStory.steps.enumerated() {
            let line: String
            do {
                line = "ok      \(index + 1)  \(step.title)\n           \(try await step.run(world))"
            } catch {
                failures += 1
                line = "FAILED  \(index + 1)  \(step.title)\n           \(error)"
            }
            try StandardOutput.writeLine(line)
        }
        return failures
    }
}
