// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import BeelineServer

/// The options for the certificate of a server.
struct ServerTLSArguments: ParsableArguments {
    @Option(help: ArgumentHelp("Use TLS with this certificate chain (PEM)", valueName: "file"), completion: .file())
    var cert: String?

    @Option(help: ArgumentHelp("The private key of the certificate (PEM)", valueName: "file"), completion: .file())
    var key: String?

    /// The files; nil without TLS.
    ///
    /// - Throws: ``CommandFailure`` if only one of both options is given.
    func files() throws(CommandFailure) -> ServerConfiguration.TLSFiles? {
        switch (cert, key) {
        case (let certificate?, let key?): .init(certificate: certificate, key: key)
        case (nil, nil): nil
        default: throw CommandFailure(.usage, "--cert and --key go together: give both")
        }
    }
}

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
