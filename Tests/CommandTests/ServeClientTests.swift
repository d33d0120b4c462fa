// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineTesting
import Foundation
import Testing

@testable import BeelineCommand

extension ProcessTests {
    /// `beeline serve` answers curl, kdig, dig and Chromium.
    struct ServeClientTests {
        @Test(
            .enabled(if: ServeProcess.has("/usr/bin/curl"), "curl is not installed"),
            arguments: ["--http1.1", "--http2"]
        )
        func curlIsToldThatAQuestionIsTooLarge(_ version: String) async throws {
            let lab = try await CommandLab()
            try lab.folder.write(Data(count: 300_000), to: "large")
            _ = try await ServeProcess.serving(lab) { endpoint, _ in
                let type = ["-H", "content-type: application/dns-message", "--data-binary", "@large"]
                let place = [
                    "--resolve", "dns.test:\(endpoint.port):127.0.0.1", "https://dns.test:\(endpoint.port)/dns-query",
                ]
                let run = try await CommandRun.run(
                    "/usr/bin/curl",
                    ["-q", "-sS", "-m", "20", "--cacert", "ca.pem", version, "-w", "%{http_code}"] + type + place,
                    in: lab.folder
                )
                #expect(run.status == 0 && run.text.hasSuffix("413"), "\(run.text) \(run.errors)")
            }
            await lab.stop()
        }

        @Test(.enabled(if: ServeProcess.has("/usr/bin/curl"), "curl is not installed"))
        func curlFindsASiteByIt() async throws {
            let lab = try await CommandLab()
            _ = try await ServeProcess.serving(lab) { endpoint, _ in
                let fetched = try await CommandRun.run(
                    "/usr/bin/curl",
                    [
                        "-q", "-sS", "--cacert", "ca.pem", "--doh-insecure", "--doh-url",
                        "https://127.0.0.1:\(endpoint.port)/dns-query", "-o", "/dev/null", "-w",
                        "%{http_code} %{remote_ip}",
                        lab.url("a.test", "/echo"),
                    ],
                    in: lab.folder
                )
                #expect(fetched.text.hasPrefix("200 127.0.0."), "\(fetched.text) \(fetched.errors)")
            }
            await lab.stop()
        }

        @Test(.enabled(if: ServeProcess.has("/usr/bin/kdig"), "kdig is not installed"))
        func kdigAsksByGETAndPOST() async throws {
            let lab = try await CommandLab()
            _ = try await ServeProcess.serving(lab) { endpoint, _ in
                for form in ["+https", "+https-get"] {
                    let asked = try await CommandRun.run(
                        "/usr/bin/kdig",
                        [
                            form, "+tls-ca=ca.pem", "+tls-host=dns.test", "+padding=128", "@127.0.0.1", "-p",
                            "\(endpoint.port)", "alias.corp.test", "A", "mail.corp.test", "MX", "nobody.corp.test", "A",
                            "a.test", "A", "www.corp.test", "HTTPS", "www.corp.test", "CAA",
                        ],
                        in: lab.folder
                    )
                    for words in [
                        "alias.corp.test.", "status: NXDOMAIN", "10 www.corp.test.", "127.0.0.2", "EDNS PSEUDOSECTION",
                        "1 . alpn=h2,http/1.1 port=8443", "0 issue \"ca.test\"",
                    ] {
                        #expect(asked.text.contains(words), "\(form): \(asked.text) \(asked.errors)")
                    }
                }
            }
            await lab.stop()
        }

        @Test(.enabled(if: ServeProcess.has("/usr/bin/dig"), "dig is not installed"))
        func digAsksByHTTPS() async throws {
            let lab = try await CommandLab()
            _ = try await ServeProcess.serving(lab) { endpoint, _ in
                let asked = try await CommandRun.run(
                    "/usr/bin/dig",
                    ["+https", "@127.0.0.1", "-p", "\(endpoint.port)", "+short", "alias.corp.test"],
                    in: lab.folder
                )
                #expect(asked.text == "www.corp.test.\n127.0.0.1\n", "\(asked.text) \(asked.errors)")
            }
            await lab.stop()
        }

        private static let chromium =
            ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].first(where: ServeProcess.has)
            ?? ""

        @Test(
            .enabled(
                if: ServeProcess.has(chromium) && ServeProcess.has("/usr/bin/certutil"),
                "chromium or certutil is not installed"
            ),
            .timeLimit(.minutes(2))
        )
        func chromiumFindsASiteByItsSecureDNS() async throws {
            let lab = try await CommandLab()
            let log = "access.log"
            _ = try await ServeProcess.serving(lab, arguments: ["--access-log", log]) { endpoint, _ in
                // Chromium gets a home and a profile in the test's folder, so that it uses none of this machine.
                let home = lab.folder.path
                for folder in [".pki/nssdb", "profile"] {
                    try FileManager.default.createDirectory(
                        atPath: "\(home)/\(folder)",
                        withIntermediateDirectories: true
                    )
                }
                let database = ["-d", "sql:\(home)/.pki/nssdb"]
                for arguments in [["-N", "--empty-password"], ["-A", "-t", "C,,", "-n", "lab", "-i", "ca.pem"]] {
                    let made = try await CommandRun.run("/usr/bin/certutil", database + arguments, in: lab.folder)
                    try #require(made.status == 0, "\(made.errors)")
                }
                let secureDNS = ["mode": "secure", "templates": "https://127.0.0.1:\(endpoint.port)/dns-query"]
                let state = try JSONSerialization.data(withJSONObject: ["dns_over_https": secureDNS])
                try lab.folder.write(state, to: "profile/Local State")
                let page = try await CommandRun.run(
                    Self.chromium,
                    [
                        "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
                        "--disable-component-update", "--no-first-run", "--user-data-dir=\(home)/profile",
                        "--dump-dom", lab.url("a.test", "/echo"),
                    ],
                    in: lab.folder
                )
                #expect(page.text.contains("a.test:\(lab.site.port)"), "\(page.text) \(page.errors)")
            }
            let asked = try lab.folder.text(log)
            #expect(asked.contains(" doh - a.test A 200 NOERROR "), "\(asked)")
            await lab.stop()
        }
    }
}
