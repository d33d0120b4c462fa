// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// Options for the whole command line, including the parts before and after a `--next`.
struct SessionArguments: FetchOptionGroup {
    var isSilent = false
    var showsErrors = false
    var isVerbose = false
    var showsBar = false
    var report = false
    /// `--stderr`: the file that replaces standard error.
    var errorFile: String?
    var isParallel = false
    var parallelMax = 50
    var parallelMaxHost: Int?
    var failsEarly = false
    /// `--rate`: the smallest time between two transfers; parsed by ``FetchSession``.
    var rate: String?
    /// Warnings about options and their files, in curl's words. As in curl, a later `-s` does not hide them.
    private(set) var warnings: [String] = []

    mutating func warn(_ text: String) { if !isSilent { warnings.append(text) } }

    /// Whether errors are printed.
    var printsErrors: Bool { !isSilent || showsErrors }
    /// Whether notes are printed. With `--report`, standard error contains only the report, so that a program can parse it.
    var printsNotes: Bool { !isSilent && !report }
    /// The maximum number of transfers at the same time; nil runs them in sequence.
    var parallelism: Int? { isParallel ? parallelMax : nil }

    static let options: [FetchOption] = [
        .flag("silent", "s", help: "Print no progress and no errors") { $0.session.isSilent = $1 },
        .flag("show-error", "S", help: "Print errors even with -s") { $0.session.showsErrors = $1 },
        .flag("verbose", "v", help: "Print details of the transfer to standard error") { $0.session.isVerbose = $1 },
        .flag("report", help: "Print a report of each transfer to standard error, as JSON") { $0.session.report = $1 },
        .text("stderr", value: "file", help: "Write messages to this file; - is standard output") {
            $0.session.errorFile = $1
        }.path(),
        .flag("progress-bar", "#", help: "Show progress as a plain bar") { $0.session.showsBar = $1 },
        .flag("parallel", "Z", help: "Run the transfers at the same time") { $0.session.isParallel = $1 },
        .number("parallel-max", help: "Maximum number of transfers at the same time (default: 50)", in: 0...65_535) {
            // As in curl, 0 is the default.
            $0.session.parallelMax = $1 == 0 ? 50 : $1
        },
        .number("parallel-max-host", help: "Maximum number of connections to one origin with -Z", in: 0...65_535) {
            $0.session.parallelMaxHost = $1 == 0 ? nil : $1
        },
        // Connections are opened as soon as transfers need them.
        .ignored("parallel-immediate"),
        .flag("fail-early", help: "Stop after the first transfer that fails") { $0.session.failsEarly = $1 },
        .text("rate", value: "rate", help: "Start at most this many transfers, such as 3/s or 10/m") {
            $0.session.rate = $1
        },
        .directive("next", ":", help: "Start new options for the URLs that follow", does: .next),
        .directive("config", "K", help: "Read options from this file; - is standard input", does: .config).path(),
        .directive(
            "disable",
            "q",
            help: "Do not read the default file of options (only as the first argument)",
            does: .disable
        ),
        .directive("help", "h", help: nil, does: .help),
        .directive("version", "V", help: nil, does: .version),
        // Output is never buffered, colour is used on terminals only, and -v prints the same at every level.
        .ignored("no-buffer", "N"), .ignored("buffer"), .ignored("styled-output"), .ignored("trace-time"),
        .ignored("trace-ids"),
    ]
}
