// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Beeline

/// `beeline doctor`: diagnoses the resolution and the servers of a host.
struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Show what each resolver answers for a host and whether each address works.",
        usage: "beeline doctor [<options>] <host>",
        discussion: """
            Asks every upstream and the system's resolver, sends a request to every address in their answers and to the \
            endpoints of the HTTPS records, and inspects the certificates. HOST may have a port or be a URL. The exit code is 0 \
            if a request would be answered, else that of the request: 6, 7, 8, 28, 35, 52, 56, 60.
            """ + " " + NameArguments.specs
    )

    @Argument(help: "The host, HOST:PORT, or a URL")
    var host: String

    @OptionGroup var names: NameArguments

    @Option(help: ArgumentHelp("Maximum time for each address, in seconds (default: 5)", valueName: "sec"))
    var connectTimeout: Double?

    @Flag(help: "Print one JSON document")
    var json = false

    @Option(help: ArgumentHelp("Write the report to this file as an HTML page", valueName: "file"), completion: .file())
    var html: String?

    func run() async throws {
        let configuration = try ClientConfiguration(names.options(), defaults: try Defaults.load(), files: .real)
        let timeout = try Duration(seconds: connectTimeout, option: "--connect-timeout") ?? .seconds(5)
        let url: HTTPURL
        do {
            url = try HTTPURL(host.hasScheme ? host : "https://\(host)/")
        } catch {
            // WebSocket URLs are examined too, so the message names their schemes.
            throw CommandFailure(CommandFailure(url: error).status, error.message)
        }
        let (json, html) = (json, html)
        try await Interruption.runCommand { () async throws(CommandFailure) in
            let diagnosis = try await Self.examine(url, configuration: configuration, timeout: timeout)
            guard !Task.isCancelled else { return .interrupted }
            try Self.print(diagnosis, json: json, html: html)
            return diagnosis.verdict.status
        }
    }

    private static func examine(
        _ url: HTTPURL,
        configuration: ClientConfiguration,
        timeout: Duration
    ) async throws(CommandFailure) -> Diagnosis {
        let client = try BeelineClient.make(configuration)
        await client.resolver.discoverNAT64()
        let examination = Examination(resolver: client.resolver, tls: configuration.tls, timeout: timeout)
        let diagnosis = await examination.run(url)
        await client.shutDown()
        return diagnosis
    }

    private static func print(_ diagnosis: Diagnosis, json: Bool, html: String?) throws(CommandFailure) {
        let text = json ? JSONOutput.line(DoctorReport(diagnosis)) + "\n" : DoctorText(diagnosis).text
        if let html {
            do {
                try FileDescriptor.open(html, .truncate).writeAndClose(DoctorPage(diagnosis).text.utf8)
            } catch {
                throw CommandFailure(.writeFailed, "--html: the file \(html) cannot be written: \(error)")
            }
        }
        try StandardOutput.write(text.utf8)
    }
}
