// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineTesting
import Foundation
import Testing

@testable import BeelineCommand

extension ProcessTests {
    /// Several servers, and a balancer before one.
    struct ServeFleetTests {
        private static let redis =
            ["/usr/bin/redis-server", "/usr/bin/valkey-server"].first(where: ServeProcess.has) ?? ""

        @Test(
            "servers that share a Redis allow an account its quota together",
            .enabled(
                if: ServeProcess.has(redis) && ServeProcess.has("/usr/bin/curl"),
                "redis-server or curl is not installed"
            )
        )
        func quotaOfSeveralServers() async throws {
            let lab = try await CommandLab()
            try lab.folder.write("s3cret\n", to: "secret")
            let free = try await LoopbackOrigin.start(addresses: ["127.0.0.1"], handler: Routes.standard)
            let port = free.port
            await free.stop()
            let line = ["--port", "\(port)", "--bind", "127.0.0.1", "--save", ""]
            _ = try await CommandRun.run(Self.redis, line, in: lab.folder) { process in
                // Redis inherits the test's mask of signals, and SIGTERM may be in it.
                defer { kill(process, SIGKILL) }
                let other = try await CommandLab()
                try other.folder.write("s3cret\n", to: "secret")
                let options = [
                    "--account", "7:secret", "--account-quota", "7=60/d", "--redis", "127.0.0.1:\(port)",
                ]
                _ = try await ServeProcess.serving(lab, arguments: options) { first, _ in
                    _ = try await ServeProcess.serving(other, arguments: options) { second, _ in
                        // Until both are connected, they count alone.
                        let client = Self.redis.replacing("-server", with: "-cli")
                        let line = ["-p", "\(port)", "info", "clients"]
                        try await eventually("two clients of Redis", every: .milliseconds(20)) {
                            let info = try await CommandRun.run(client, line, in: other.folder)
                            // With the one that asks.
                            return info.text.contains("connected_clients:3")
                        }
                        var statuses: [String: Int] = [:]
                        for (lab, endpoint) in [(lab, first), (other, second)] {
                            // One run of curl asks many times.
                            let url = "/d?dn=www.corp.test&token=s3cret&n=[1-50]"
                            let run = try await ServeProcess.curl(lab, url, at: endpoint, options: ["-o", "/dev/null"])
                            for status in run.text.split(separator: " ") { statuses["\(status)", default: 0] += 1 }
                        }
                        #expect(statuses == ["200": 60, "429": 40], "\(statuses)")
                    }
                }
                await other.stop()
            }
            await lab.stop()
        }

        private static let haproxy = "/usr/sbin/haproxy"

        /// HAProxy that passes TCP through, with the PROXY protocol.
        private static func balancer(_ port: UInt16, to endpoint: Endpoint, _ options: String) -> String {
            """
            defaults
                mode tcp
                timeout connect 5s
                timeout client 20s
                timeout server 20s
            listen dns
                bind 127.0.0.1:\(port)
                server one \(endpoint) \(options) check inter 100ms

            """
        }

        @Test(
            "HAProxy's header names the client, and its health checks are accepted",
            .enabled(
                if: ServeProcess.has(haproxy) && ServeProcess.has("/usr/bin/curl"),
                "haproxy or curl is not installed"
            ),
            arguments: ["send-proxy", "send-proxy-v2", "send-proxy-v2 proxy-v2-options crc32c,unique-id,authority"]
        )
        func haproxyNamesTheClient(_ options: String) async throws {
            let lab = try await CommandLab()
            let arguments = [
                "--access-log", "access.log", "--access-log-format", "json", "--proxy-protocol", "127.0.0.1",
            ]
            let run = try await ServeProcess.serving(lab, arguments: arguments) { endpoint, _ in
                // The port is free again when HAProxy binds it.
                let free = try await LoopbackOrigin.start(addresses: ["127.0.0.1"], handler: Routes.standard)
                let port = free.port
                await free.stop()
                try lab.folder.write(Self.balancer(port, to: endpoint, options), to: "haproxy.cfg")
                let line = ["-db", "-f", "haproxy.cfg"]
                let proxy = try await CommandRun.run(Self.haproxy, line, in: lab.folder) { process in
                    defer { kill(process, SIGTERM) }
                    let front = Endpoint(endpoint.address, port: port)
                    try await eventually("an answer through HAProxy", every: .milliseconds(20)) {
                        // Another address of this machine, so that the client differs from HAProxy.
                        let asked = try await ServeProcess.curl(
                            lab,
                            "/resolve?name=www.corp.test",
                            at: front,
                            options: ["--interface", "127.0.0.5"]
                        )
                        return asked.text.hasSuffix(" 200")
                    }
                }
                #expect(!proxy.errors.contains("DOWN"), "\(proxy.errors)")
            }
            #expect(run.status == 128 + SIGTERM, "\(run.errors)")
            let line = try #require(try lab.folder.text("access.log").split(separator: "\n").last)
            let record = try ReportView(String(line))
            #expect(record["client"].text == "127.0.0.5" && record["names"].texts == ["www.corp.test"], "\(line)")
            await lab.stop()
        }
    }
}
