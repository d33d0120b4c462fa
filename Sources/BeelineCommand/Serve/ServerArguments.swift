// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Beeline
import BeelineServer

/// The options for the zones and the certificate of a server.
struct ServerFileArguments: ParsableArguments {
    @Option(
        help: ArgumentHelp("Serve this zone (RFC 1035 master file); may be repeated", valueName: "file"),
        completion: .file()
    )
    var zone: [String] = []

    @Option(help: ArgumentHelp("Use TLS with this certificate chain (PEM)", valueName: "file"), completion: .file())
    var cert: String?

    @Option(help: ArgumentHelp("The private key of the certificate (PEM)", valueName: "file"), completion: .file())
    var key: String?

    /// The files of the certificate; nil without TLS.
    ///
    /// - Throws: ``CommandFailure`` if only one of both options is given.
    func tls() throws(CommandFailure) -> ServerConfiguration.TLSFiles? {
        switch (cert, key) {
        case (let certificate?, let key?): .init(certificate: certificate, key: key)
        case (nil, nil): nil
        default: throw CommandFailure(.usage, "--cert and --key go together: give both")
        }
    }
}

/// The options for the end and the log of a server.
struct ServerOperationArguments: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "After SIGTERM, answer /ready with 503 for this time before new connections are refused (default: 0)",
            valueName: "seconds"
        )
    )
    var drainDelay: Double?

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

    /// The value of `--drain-delay`, 0 by default.
    func checkedDrainDelay() throws(CommandFailure) -> Duration {
        let seconds = drainDelay ?? 0
        guard (0...3_600).contains(seconds) else {
            throw CommandFailure(.usage, "--drain-delay: write 0 to 3600 seconds")
        }
        return .seconds(seconds)
    }
}

/// Reads the values of options that both servers have.
enum ServerOptions {
    static func networks(_ texts: [String], of option: String) throws(CommandFailure) -> [IPNetwork] {
        try texts.map { text throws(CommandFailure) in
            guard let network = IPNetwork(text) else {
                throw CommandFailure(
                    .usage,
                    "\(option) \"\(text)\": write an address or a network such as 10.0.0.0/8"
                )
            }
            return network
        }
    }

    /// The value of `--rate`, 200 by default.
    static func rate(_ rate: Double?) throws(CommandFailure) -> Double {
        let rate = rate ?? 200
        guard rate >= 0, rate.isFinite else { throw CommandFailure(.usage, "--rate: write 0 or more") }
        return rate
    }

    static func privateNames(_ text: String) throws(CommandFailure) -> PrivateNameAccess {
        switch text {
        case "none": .forNone
        case "loopback": .forLoopback
        case "all": .forAll
        default: throw CommandFailure(.usage, "--private-names \"\(text)\": write none, loopback or all")
        }
    }
}
