// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineTesting
import Foundation

@testable import BeelineCommand

/// Runs `beeline serve` for a test.
enum ServeProcess {
    static let zone = """
        $ORIGIN corp.test.
        $TTL 300
        @ SOA ns hostmaster 1 2h 15m 2w 5m
        www A 127.0.0.1
            HTTPS 1 . alpn="h2,http/1.1" port=8443
            CAA 0 issue "ca.test"
        mail MX 10 www
        alias CNAME www

        """

    /// Starts a server with TLS that asks the lab's service and serves a zone, runs `body` with its endpoint, and then
    /// ends it by SIGTERM.
    static func serving(
        _ lab: CommandLab,
        arguments: [String] = [],
        by launcher: [String] = [],
        body: @escaping @Sendable (Endpoint, _ process: Int32) async throws -> Void
    ) async throws -> CommandRun {
        let certificate = try lab.authority.certificate(for: "dns.test", "127.0.0.1").write(to: lab.folder.path)
        try lab.folder.write(zone, to: "corp.zone")
        let options = ["--cert", certificate.chain, "--key", certificate.key, "--zone", "corp.zone"]
        let line = ["serve", "--listen", "127.0.0.1:0"] + lab.names + options + arguments
        let whole = launcher + [CommandRun.beeline] + line
        return try await CommandRun.run(whole[0], Array(whole.dropFirst()), in: lab.folder) { process in
            let line = try await lab.folder.waitForText("the server's first line", ending: ".out") {
                $0.hasPrefix("listening on https://") && $0.hasSuffix("\n")
            }
            let endpoint = try Endpoint(parsing: String(line.dropFirst(21).dropLast()), defaultPort: nil)
            defer { kill(process, SIGTERM) }
            try await body(endpoint, process)
        }
    }

    /// Runs curl on a path of the server.
    static func curl(
        _ lab: CommandLab,
        _ path: String,
        at endpoint: Endpoint,
        options: [String] = []
    ) async throws -> CommandRun {
        let place = [
            "--resolve", "dns.test:\(endpoint.port):127.0.0.1", "https://dns.test:\(endpoint.port)\(path)",
        ]
        let line = ["-q", "-sS", "-m", "20", "--cacert", "ca.pem", "-w", " %{http_code}"] + options + place
        return try await CommandRun.run("/usr/bin/curl", line, in: lab.folder)
    }

    static func has(_ program: String) -> Bool { FileManager.default.isExecutableFile(atPath: program) }
}
