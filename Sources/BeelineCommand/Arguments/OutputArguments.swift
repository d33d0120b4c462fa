// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// Options for the output of the response, logs and reports.
struct OutputArguments: ParsableArguments {
    /// Stands for `-O` among the values of `-o`, to keep their order. A program's argument cannot contain NUL.
    static let remoteName = "\0"
    static let remoteNameMark = "--output=\(remoteName)"

    @Option(
        name: [.customShort("o"), .customLong("output")],
        help: ArgumentHelp("Write the body to this file; one for each URL", valueName: "file")
    )
    var output: [String] = []

    @Flag(
        name: [.customShort("O"), .customLong("remote-name")],
        help: "Write the body to a file named as in the URL"
    )
    var remoteNames: Int

    @Flag(name: [.customShort("i"), .customLong("include")], help: "Print the response's head before the body")
    var include = false

    @Option(
        name: [.customShort("D"), .customLong("dump-header")],
        help: ArgumentHelp("Write the response's head to this file", valueName: "to")
    )
    var dumpHeader: String?

    @Flag(name: [.customShort("f"), .customLong("fail")], help: "Exit with 22 at status 400 and above, no body")
    var fail = false

    @Flag(help: "As -f, with the body")
    var failWithBody = false

    @Flag(name: [.customShort("s"), .customLong("silent")], help: "Print no progress and no errors")
    var silent = false

    @Flag(name: [.customShort("S"), .customLong("show-error")], help: "Print errors even with -s")
    var showError = false

    @Flag(name: [.customShort("v"), .customLong("verbose")], help: "Tell on standard error what happens")
    var verbose = false

    @Option(
        name: [.customShort("w"), .customLong("write-out")],
        help: ArgumentHelp("Print this at the end, as '%{http_code}\\n'", valueName: "text")
    )
    var writeOut: String?

    @Flag(help: "Tell what happened as JSON on standard error")
    var report = false

    // Accepted for curl's scripts. It has no effect: output is never buffered.
    @Flag(name: [.customShort("N"), .customLong("no-buffer")], help: .hidden)
    var noBuffer = false
}
