// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineTesting
import Foundation
import Testing

extension ProcessTests {
    /// Certificates and keys of `--cacert`, `-E` and `--key`.
    struct ClientCertificateTests {
        /// A server that requires a certificate from `clients`.
        private func start(_ authority: TestAuthority, clients: TestAuthority) async throws -> LoopbackOrigin {
            var tls = ServerTLS(try authority.certificate(for: "a.test"))
            tls.clientAuthority = clients
            return try await LoopbackOrigin.start(tls: tls) { _ in .text("known") }
        }

        @Test("--cacert, -E and --key can be pipes, which are read once", .timeLimit(.minutes(1)))
        func pipes() async throws {
            let folder = try Folder()
            let authority = try TestAuthority()
            let clients = try TestAuthority(name: "Clients")
            let site = try await start(authority, clients: clients)
            let certificate = try clients.certificate(for: "client.test")
            try folder.write(authority.rootPEM, to: "ca.pem")
            try folder.write(certificate.chainPEM, to: "cert.pem")
            try folder.write(certificate.keyPEM, to: "key.pem")
            let script = """
                mkfifo ca cert key; cat ca.pem >ca & cat cert.pem >cert & cat key.pem >key &
                exec "$0" -s -S --no-https-records --resolve "a.test:$1:127.0.0.1" --cacert ca -E cert --key key "https://a.test:$1/"
                """
            let arguments = ["-c", script, CommandRun.beeline, "\(site.port)"]
            let run = try await CommandRun.run("/bin/sh", arguments, in: folder)
            #expect(run.status == 0 && run.text == "known", "\(run.errors)")
            await site.stop()
        }

        @Test("the file of CURL_CA_BUNDLE is trusted, and --cacert overrides it")
        func bundleOfTheEnvironment() async throws {
            let lab = try await CommandLab { _ in .text("ok") }
            try lab.folder.write(try TestAuthority(name: "Other").rootPEM, to: "other.pem")
            let pin = ["--no-https-records", "--resolve", "a.test:\(lab.site.port):127.0.0.1"]
            let line = ["-s", "-S"] + pin + [lab.url("a.test")]
            let environment = ["CURL_CA_BUNDLE": "ca.pem"]
            let run = try await lab.beeline(line, environment: environment)
            #expect(run.status == 0 && run.text == "ok", "\(run.errors)")
            let other = try await lab.beeline(["--cacert", "other.pem"] + line, environment: environment)
            #expect(other.status == 60, "\(other.errors)")
            let missing = try await lab.beeline(line, environment: ["CURL_CA_BUNDLE": "none.pem"])
            #expect(missing.status == 77 && missing.errors.contains("CURL_CA_BUNDLE"), "\(missing.errors)")
            await lab.stop()
        }

        @Test("a client certificate that cannot be used has exit code 58, and nothing is sent")
        func unusableCertificates() async throws {
            let lab = try await CommandLab { _ in .text("ok") }
            let one = try lab.authority.certificate(for: "one.test")
            let two = try lab.authority.certificate(for: "two.test")
            try lab.folder.write("no certificate", to: "broken.pem")
            try lab.folder.write(one.chainPEM + two.keyPEM, to: "mixed.pem")
            try lab.folder.write(one.chainPEM, to: "nokey.pem")
            try lab.folder.write(one.chainPEM + one.keyPEM, to: "right.pem")
            for name in ["broken.pem", "mixed.pem", "nokey.pem", "missing.pem"] {
                let run = try await lab.beeline(["-s", "-S", "-E", name, lab.plainURL()])
                #expect(run.status == 58 && run.errors.contains("client certificate"), "\(name): \(run.errors)")
            }
            #expect(lab.plain.requests.isEmpty)
            #expect(try await lab.beeline(["-s", "-E", "right.pem", lab.plainURL()]).status == 0)
            await lab.stop()
        }
    }
}
