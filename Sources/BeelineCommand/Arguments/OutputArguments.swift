// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// Options for the output of the response, logs and reports.
struct OutputArguments: ParsableArguments {
    /// Stands for `-O` among the values of `-o`, to keep their order. A program's argument cannot contain NUL.
    static let remoteName = "\0"
    static let remoteNameMark = "--output=\(remoteName)"

    @Option(
        name: [.customShort("o"), .customLong("output")],
        help: ArgumentHelp("Write the body to this file; one for each URL", valueName: "file"),
        completion: .file()
    )
    var output: [String] = []

    @Flag(
        name: [.customShort("O"), .customLong("remote-name")],
        help: "Write the body to a file named as the remote file"
    )
    var remoteNames: Int

    @Flag(name: [.customShort("i"), .customLong("include")], help: "Print the response headers before the body")
    var include = false

    @Option(
        name: [.customShort("D"), .customLong("dump-header")],
        help: ArgumentHelp("Write the response headers to this file", valueName: "to"),
        completion: .file()
    )
    var dumpHeader: String?

    @Flag(name: [.customShort("f"), .customLong("fail")], help: "Exit with 22 at status 400 and above, without a body")
    var fail = false

    @Flag(help: "Like -f, but write the body")
    var failWithBody = false

    @Flag(name: [.customShort("s"), .customLong("silent")], help: "Print no progress and no errors")
    var silent = false

    @Flag(name: [.customShort("S"), .customLong("show-error")], help: "Print errors even with -s")
    var showError = false

    @Flag(name: [.customShort("v"), .customLong("verbose")], help: "Print details of the transfer to standard error")
    var verbose = false

    @Option(
        name: [.customShort("w"), .customLong("write-out")],
        help: ArgumentHelp("Print this text after each transfer, such as '%{http_code}\\n'", valueName: "text")
    )
    var writeOut: String?

    @Flag(help: "Print a report of each transfer to standard error, as JSON")
    var report = false

    // Accepted for curl's scripts. It has no effect: output is never buffered.
    @Flag(name: [.customShort("N"), .customLong("no-buffer")], help: .hidden)
    var noBuffer = false
}
