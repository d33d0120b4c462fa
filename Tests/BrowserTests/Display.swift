// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import Foundation

@testable import BeelineWebDriver

/// A virtual screen (Xvfb) for browsers that need a display. It ends with its owner.
final class Display: Sendable {
    /// The value of `DISPLAY`, for example `:1`.
    let name: String
    private let files: ProfileFolder
    private let server: OwnedProcess

    init() async throws {
        let files = try ProfileFolder()
        self.files = files
        let arguments = ["/usr/bin/Xvfb", "-displayfd", "1", "-screen", "0", "1024x768x24", "-nolisten", "tcp"]
        server = try OwnedProcess(arguments, environment: [:], output: files["display"])
        // Xvfb prints its number once it accepts connections.
        name = try await eventualValue("a display of Xvfb", within: .seconds(30), every: .milliseconds(20)) {
            let text = files.text("display") ?? ""
            guard let number = text.split(separator: "\n").last, Int(number) != nil, text.hasSuffix("\n") else {
                return nil
            }
            return ":\(number)"
        }
    }

    /// A folder for files that the browser reads.
    var folder: String { files.path }

    /// Presses keys in the focused window.
    func press(_ keys: String) async throws {
        let arguments = ["xdotool", "key", keys]
        var environment = ProcessInfo.processInfo.environment
        environment["DISPLAY"] = name
        let process = try OwnedProcess(arguments, environment: environment, output: files["xdotool.log"])
        await process.wait()
        guard process.status == 0 else { throw KeyFailure(text: files.text("xdotool.log") ?? "") }
    }

    private struct KeyFailure: Error {
        let text: String
    }

    func stop() async { await server.end() }
}
