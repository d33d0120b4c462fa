// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// The options for the log of a server.
struct ServerLogArguments: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Log one line for each query to this file; - is standard error, /dev/stdout is standard output",
            valueName: "file"
        ),
        completion: .file()
    )
    var accessLog: String?

    @Option(help: ArgumentHelp("Write the access log as text or json, one object a line", valueName: "format"))
    var accessLogFormat = AccessLogFormat.text
}
