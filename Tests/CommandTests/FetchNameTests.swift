// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineTesting
import Foundation
import Testing

extension ProcessTests {
    /// The built command connects to the resolved or pinned addresses and keeps the name of the URL.
    struct FetchNameTests {
        @Test func anUpstreamsAddressIsDialledAndTheNameStays() async throws {
            let lab = try await CommandLab()
            let run = try await lab.beeline(lab.names + [lab.url("a.test", "/echo")])
            #expect(run.status == 0 && run.errors == "")
            let echo = try JSONDecoder().decode(Echo.self, from: run.output)
            #expect(
                echo.serverName == "a.test" && echo.host == "a.test:\(lab.site.port)" && echo.address == "127.0.0.2"
            )
            #expect(lab.upstream.queries.first?.name == "a.test")
            await lab.stop()
        }

        @Test func twoNamesOnOneAddressAreTwoSites() async throws {
            let lab = try await CommandLab()
            let pins = ["a.test", "b.test"].flatMap { ["--resolve", "\($0):\(lab.site.port):127.0.0.1"] }
            let arguments = pins + ["--cacert", "ca.pem", lab.url("a.test", "/echo"), lab.url("b.test", "/echo")]
            let run = try await lab.beeline(arguments)
            #expect(run.status == 0)
            #expect(lab.site.requests.map(\.connection.serverName) == ["a.test", "b.test"])
            #expect(lab.site.requests.map { "\($0.connection.local.address)" } == ["127.0.0.1", "127.0.0.1"])
            #expect(lab.upstream.queries.isEmpty)
            await lab.stop()
        }

        @Test("%{certs} prints the fields of the server's certificate and its PEM form, and nothing without TLS")
        func certificates() async throws {
            let lab = try await CommandLab()
            let format = ["-s", "-o", "/dev/null", "-w", "%{num_certs}\\n%{certs}"]
            let run = try await lab.beeline(lab.names + format + [lab.url("a.test")])
            let lines = run.text.split(separator: "\n").map(String.init)
            #expect(run.status == 0 && lines.first == "1", "\(run.errors)")
            for name in ["Subject", "Issuer", "Serial Number", "Signature Algorithm", "Start date", "Expire date"] {
                #expect(lines.contains { $0.hasPrefix("\(name):") && $0.count > name.count + 1 }, "\(name): \(lines)")
            }
            #expect(lines.contains("Version:2") && lines.contains("X509v3 Subject Alternative Name:DNS:a.test"))
            let begin = try #require(lines.firstIndex(of: "-----BEGIN CERTIFICATE-----"))
            let end = try #require(lines.firstIndex(of: "-----END CERTIFICATE-----"))
            let der = try #require(Data(base64Encoded: lines[(begin + 1)..<end].joined()))
            #expect(der.firstRange(of: Data("a.test".utf8)) != nil && run.text.hasSuffix("-----\n"))
            #expect(try await lab.beeline(format + [lab.plainURL()]).text == "0\n")
            await lab.stop()
        }

        @Test("%{url_effective} has an international host as it was written, also after a redirect to another path")
        func internationalHostOfURLEffective() async throws {
            let lab = try await CommandLab { request in
                request.path == "/moved" ? .redirect(to: "/x%20y?q") : .text("ok")
            }
            let (port, host) = (lab.plain.port, "bücher.test")
            let line = [
                "-s", "-L", "-o", "/dev/null", "-w", "%{url_effective}", "--resolve", "\(host):\(port):127.0.0.1",
            ]
            for (path, last) in [("/a", "/a"), ("/moved", "/x%20y?q")] {
                let run = try await lab.beeline(line + ["http://\(host):\(port)\(path)"])
                #expect(run.status == 0 && run.text == "http://\(host):\(port)\(last)", "\(run.text)\(run.errors)")
            }
            #expect(lab.plain.requests.allSatisfy { $0.authority == "xn--bcher-kva.test:\(port)" })
            // The ASCII form stays if it was written, and another host of a redirect is not replaced.
            let ascii = try await lab.beeline(line + ["http://xn--bcher-kva.test:\(port)/a"])
            #expect(ascii.text == "http://xn--bcher-kva.test:\(port)/a", "\(ascii.errors)")
            await lab.stop()
        }

        @Test("a name in ASCII is connected to although its A-label is not valid IDNA, as in browsers and curl")
        func invalidALabel() async throws {
            let lab = try await CommandLab()
            let (port, host) = (lab.plain.port, "xn--8i7caa.test")
            let line = ["--resolve", "\(host):\(port):127.0.0.1", "http://\(host):\(port)/status/200"]
            let run = try await lab.beeline(line)
            #expect(run.status == 0, "\(run.errors)")
            #expect(lab.plain.requests.map(\.authority) == ["\(host):\(port)"])
            await lab.stop()
        }

        @Test func aDeadFirstAddressIsPassedOver() async throws {
            let lab = try await CommandLab()
            let dead = try RefusedEndpoint(address: "127.0.0.3", port: lab.site.port)
            let pin = "a.test:\(lab.site.port):127.0.0.3,127.0.0.1"
            let run = try await lab.beeline([
                "--report", "--cacert", "ca.pem", "--resolve", pin, lab.url("a.test", "/status/204"),
            ])
            #expect(run.status == 0)
            let hop = try ReportView(run.errors)["hops"][0]
            #expect(hop["attempts"].count == 2)
            #expect(hop["attempts"][0]["outcome"].text == "failed" && hop["attempts"][1]["outcome"].text == "connected")
            #expect(hop["endpoint"].text == "127.0.0.1:\(lab.site.port)")
            #expect(hop["resolution"]["source"].text == "pinned")
            dead.close()
            await lab.stop()
        }

        @Test func theReportTellsTheWayOfEachHopAndNoSecret() async throws {
            let lab = try await CommandLab { request in
                switch request.path {
                case "/":
                    .redirect(to: "/next").adding(.setCookie, "id=secret; Path=/").adding(
                        .setCookie,
                        "x=1; Domain=c.test"
                    )
                default: .text("done\n")
                }
            }
            let run = try await lab.beeline(lab.names + ["-L", "--report", "-u", "me:hidden", lab.url("a.test")])
            #expect(run.status == 0 && run.text == "done\n")
            #expect(!run.errors.contains("secret") && !run.errors.contains("hidden"))
            #expect(run.errors.split(separator: "\n").count == 1)
            let report = try ReportView(run.errors)
            #expect(
                report.keys == [
                    "bytes_received", "bytes_sent", "error", "exit", "final_url", "hops", "retries", "status",
                    "total_ms", "url",
                ]
            )
            #expect(report["exit"].number == 0 && report["error"].isNull && report["status"].number == 200)
            #expect(report["url"].text == lab.url("a.test") && report["final_url"].text == lab.url("a.test", "/next"))
            #expect(report["bytes_received"].number == 5)
            let first = report["hops"][0]
            let second = report["hops"][1]
            #expect(report["hops"].count == 2)
            #expect(
                first.keys == [
                    "attempts", "cookies_received", "cookies_sent", "ech", "ech_public_name", "endpoint",
                    "hsts_upgrade", "method", "origin", "protocol", "proxy", "resolution", "reused", "status",
                    "timings_ms", "url",
                ]
            )
            #expect(first["ech"].text == "not offered" && first["ech_public_name"].isNull)
            #expect(first["origin"].text == "https://a.test:\(lab.site.port)" && first["status"].number == 302)
            #expect(first["protocol"].text == "http/1.1" && first["proxy"].isNull && first["reused"].isTrue == false)
            #expect(first["resolution"]["source"].text == "fresh")
            #expect(first["resolution"]["upstream"].text == "dnspod:\(lab.upstream.endpoint)")
            #expect(first["resolution"]["ttl_ms"].number ?? 0 > 50_000 && first["resolution"]["age_ms"].number != nil)
            #expect(first["resolution"]["addresses"].texts == ["127.0.0.2", "127.0.0.1"])
            #expect(first["timings_ms"].keys == ["body", "connect", "first_byte", "resolve", "tls", "total"])
            #expect(first["cookies_sent"].count == 0)
            #expect(first["cookies_received"][0]["outcome"].text == "kept")
            #expect(first["cookies_received"][1]["outcome"].text?.hasPrefix("rejected: ") == true)
            #expect(second["cookies_sent"].texts == ["id"] && second["reused"].isTrue == true)
            await lab.stop()
        }

        @Test("an attempt without TLS and without a proxy has no time for TLS")
        func noHandshakeTimeWithoutTLS() async throws {
            let lab = try await CommandLab { _ in .text("ok") }
            let plain = try ReportView(try await lab.beeline(["--report", lab.plainURL()]).errors)["hops"][0]
            #expect(plain["attempts"][0]["outcome"].text == "connected" && plain["attempts"][0]["tls_ms"].isNull)
            #expect(plain["attempts"][0]["connect_ms"].number != nil && plain["timings_ms"]["tls"].isNull)
            let run = try await lab.beeline(lab.names + ["--report", lab.url("a.test")])
            let secure = try ReportView(run.errors)["hops"][0]
            #expect(secure["attempts"][0]["tls_ms"].number ?? 0 > 0, "\(run.errors)")
            await lab.stop()
        }

        @Test("-v names the table that an address comes from")
        func tableOfAnAddress() async throws {
            let lab = try await CommandLab { _ in .text("ok") }
            try lab.folder.write("127.0.0.1 table.test\n", to: "hosts")
            let url = "http://table.test:\(lab.plain.port)/"
            let run = try await lab.beeline(["-v", "--dns", "hosts:hosts", url])
            #expect(run.errors.contains("* Resolved table.test to 127.0.0.1 by hosts:hosts\n"), "\(run.errors)")
            await lab.stop()
        }

        @Test("plain http through a tunnel or a SOCKS proxy has no time for TLS", arguments: ["http", "socks5h"])
        func noHandshakeTimeThroughProxies(scheme: String) async throws {
            let lab = try await CommandLab { _ in .text("ok") }
            let proxy = try await ProxyServer.start(scheme == "http" ? .http : .socks5) { _, port in
                Endpoint(IPAddress(v4: 0x7f00_0001), port: port)
            }
            let options = ["-p", "-x", "\(scheme)://\(proxy.endpoint)", "-o", "out", lab.plainURL()]
            let run = try await lab.beeline(["-v", "-w", "%{time_appconnect}"] + options)
            #expect(run.text == "0.000000" && !run.errors.contains("secured in"), "\(run.errors)")
            let report = try ReportView(try await lab.beeline(["--report"] + options).errors)
            #expect(report["hops"][0]["status"].number == 200 && report["hops"][0]["timings_ms"]["tls"].isNull)
            await proxy.stop()
            await lab.stop()
        }

        @Test func theEnvironmentNamesUpstreamsAndArgumentsWin() async throws {
            let lab = try await CommandLab()
            let base = ["--allow-local-answers", "--cacert", "ca.pem", lab.url("a.test", "/status/200")]
            let environment = ["BEELINE_DNS": "dnspod:\(lab.upstream.endpoint) system"]
            #expect(try await lab.beeline(base, environment: environment).status == 0)
            let hosts = try lab.folder.write("127.0.0.1 a.test\n", to: "hosts")
            #expect(try await lab.beeline(["--dns", "hosts:\(hosts)"] + base, environment: environment).status == 0)
            #expect(lab.upstream.queries.count == 1)
            #expect("\(lab.site.requests[1].connection.local.address)" == "127.0.0.1")
            await lab.stop()
        }

        @Test func theConfigurationFileGivesDefaults() async throws {
            let lab = try await CommandLab()
            try FileManager.default.createDirectory(
                atPath: lab.folder.path + "/xdg/beeline",
                withIntermediateDirectories: true
            )
            let file = """
                {"dns": ["dnspod:\(lab.upstream.endpoint)"], "allow-local-answers": true, "cacert": "../../ca.pem",
                 "jar": "jar.txt", "user-agent": "configured/1"}
                """
            try lab.folder.write(file, to: "xdg/beeline/config.json")
            let environment = ["XDG_CONFIG_HOME": lab.folder.path + "/xdg"]
            let run = try await lab.beeline([lab.url("a.test", "/set-cookie?value=a%3Db")], environment: environment)
            #expect(run.status == 0)
            #expect(lab.site.requests[0].fields[.userAgent] == "configured/1")
            #expect(try lab.folder.text("xdg/beeline/jar.txt").contains("a.test\tFALSE\t/\tFALSE\t0\ta\tb"))

            try lab.folder.write("{\"dsn\": []}", to: "xdg/beeline/config.json")
            let wrong = try await lab.beeline([lab.url("a.test")], environment: environment)
            #expect(wrong.status == 64)
            #expect(wrong.errors.hasPrefix("beeline: (64) the configuration file") && wrong.errors.contains("\"dsn\""))
            await lab.stop()
        }

        @Test func theSwitchLeavesNamesToTheSystem() async throws {
            let lab = try await CommandLab()
            let run = try await lab.beeline(lab.names + ["--no-httpdns", "--connect-timeout", "5", lab.url("a.test")])
            #expect(run.status == 6)
            #expect(lab.upstream.queries.isEmpty)
            let local = try await lab.beeline(["--no-httpdns", "http://localhost:\(lab.plain.port)/status/200"])
            #expect(local.status == 0)
            await lab.stop()
        }
    }
}
