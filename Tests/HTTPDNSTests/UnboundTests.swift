// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import DirectHTTP
import Foundation
import HTTPDNS
import Names
import Testing

private typealias Host = Names.Host

/// Our clients against unbound, as Debian has it: DNS over HTTPS, over TLS and over UDP.
@Suite(
    "Against unbound",
    .enabled(if: FileManager.default.isExecutableFile(atPath: Unbound.program), "unbound is not installed")
)
struct UnboundTests {
    private static func host(_ text: String) throws -> Host { try Host(text) }

    /// Runs `body` with an upstream for each way to ask the server.
    private static func each(_ body: (any Upstream) async throws -> Void) async throws {
        let unbound = try await Unbound()
        let engine = Engine()
        let transport = EngineTransport(engine: engine, tls: unbound.tls)
        let url = try HTTPURL("https://dns.test:\(unbound.https)/dns-query")
        let address = IPAddress(v4: 0x7f00_0001)
        let stream = try DoTUpstream(try host("dns.test"), at: [address], port: unbound.dot, tls: unbound.tls)
        let upstreams: [any Upstream] = [
            try DoHUpstream(url, at: [address], method: .get, transport: transport),
            try DoHUpstream(url, at: [address], method: .post, transport: transport), stream,
            try DNSUpstream(at: [Endpoint(address, port: unbound.dns)]),
        ]
        for upstream in upstreams { try await body(upstream) }
        await engine.shutDown()
        unbound.stop()
    }

    @Test("TTLs, aliases, both families, no record, no name, failure")
    func answers() async throws {
        try await Self.each { upstream in
            let name = upstream.name
            let www = try await upstream.answer(Question(try Self.host("www.corp.test")))
            #expect(www.v4?.addresses.map(\.description) == ["192.0.2.10"] && www.v4?.ttl == .seconds(300), "\(name)")
            #expect(www.v6?.addresses.map(\.description) == ["2001:db8::10"] && www.v6?.ttl == .seconds(120), "\(name)")
            let chain = try await upstream.answer(Question(try Self.host("one.corp.test"), families: .v4))
            #expect(chain.v4?.addresses.count == 1 && chain.v4?.ttl == .seconds(20), "\(name)")
            let none = try await upstream.answer(Question(try Self.host("v4.corp.test"), families: .v6))
            #expect(none.v6 == .absent(.noRecord, ttl: .seconds(30)), "\(name)")
            let nobody = try await upstream.answer(Question(try Self.host("nobody.corp.test"), families: .v4))
            #expect(nobody.v4 == .absent(.noName, ttl: .seconds(30)), "\(name)")
            await #expect {
                try await upstream.answer(Question(try Self.host("dead.test"), families: .v4))
            } throws: { error in
                (error as? UpstreamError)?.code == .lookupFailed
            }
        }
    }

    @Test("512 answers, which UDP cannot hold; and letters in any case")
    func large() async throws {
        try await Self.each { upstream in
            let big = try await upstream.answer(Question(try Self.host("big.corp.test"), families: .v4))
            #expect(Set(big.v4?.addresses ?? []).count == 512, "\(upstream.name)")
            for _ in 0..<4 {
                let name = try Self.host("LetterCase.corp.test")
                let answer = try await upstream.answer(Question(name, families: .v4))
                #expect(answer.v4?.addresses.map(\.description) == ["192.0.2.12"], "\(upstream.name)")
            }
        }
    }
}

/// A server of its own, with a zone, until it is stopped.
private final class Unbound: Sendable {
    static let program = "/usr/sbin/unbound"

    let dns: UInt16
    let dot: UInt16
    let https: UInt16
    let tls: TLSSettings
    private let folder: String
    private let process: Int32

    private static let zone = """
        $ORIGIN corp.test.
        $TTL 300
        @ 300 IN SOA ns hostmaster 1 7200 900 1209600 30
        @ IN NS ns
        ns IN A 192.0.2.53
        www IN A 192.0.2.10
        www 120 IN AAAA 2001:db8::10
        v4 IN A 192.0.2.11
        lettercase IN A 192.0.2.12
        one 60 IN CNAME two
        two 20 IN CNAME www

        """

    init() async throws {
        folder = NSTemporaryDirectory() + "/beeline-unbound-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let authority = try TestAuthority()
        let files = try authority.certificate(for: "dns.test").write(to: folder)
        var tls = TLSSettings()
        tls.trustsSystemRoots = false
        tls.rootPEMs = [authority.rootPEM]
        self.tls = tls
        let big = (0..<512).map { "big IN A 10.9.\($0 / 256).\($0 % 256)\n" }.joined()
        try Data((Self.zone + big).utf8).write(to: URL(fileURLWithPath: "\(folder)/corp.zone"))
        let ports = try Self.freePorts(3)
        (dns, dot, https) = (ports[0], ports[1], ports[2])
        let configuration = """
            server:
              interface: 127.0.0.1@\(ports[0])
              interface: 127.0.0.1@\(ports[1])
              interface: 127.0.0.1@\(ports[2])
              tls-port: \(ports[1])
              https-port: \(ports[2])
              tls-service-pem: "\(files.chain)"
              tls-service-key: "\(files.key)"
              username: ""
              chroot: ""
              directory: "\(folder)"
              pidfile: ""
              use-syslog: no
              logfile: "\(folder)/log"
              do-daemonize: no
              num-threads: 1
              module-config: "iterator"
              local-zone: "test." nodefault
              access-control: 127.0.0.0/8 allow
              do-ip6: no
            auth-zone:
              name: "corp.test"
              zonefile: "\(folder)/corp.zone"
              for-downstream: yes
            forward-zone:
              name: "dead.test"
              forward-addr: 127.0.0.1@1
            remote-control:
              control-enable: no

            """
        try Data(configuration.utf8).write(to: URL(fileURLWithPath: "\(folder)/unbound.conf"))
        let process = Process()
        process.executableURL = URL(fileURLWithPath: Self.program)
        process.arguments = ["-d", "-p", "-c", "\(folder)/unbound.conf"]
        process.standardError = FileHandle.nullDevice
        try process.run()
        self.process = process.processIdentifier
        let (path, number) = (folder, process.processIdentifier)
        do {
            try await withTimeLimit(.seconds(15), { "unbound" }) {
                while !((try? String(contentsOfFile: "\(path)/log", encoding: .utf8)) ?? "").contains(
                    "start of service"
                ) {
                    try await Task.sleep(for: .milliseconds(10))
                }
            }
        } catch {
            kill(number, SIGKILL)
            throw error
        }
    }

    func stop() {
        kill(process, SIGTERM)
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// Ports that nobody has at the moment: the server cannot be told to pick one and say which.
    private static func freePorts(_ count: Int) throws -> [UInt16] {
        var sockets: [CInt] = []
        defer { for socket in sockets { close(socket) } }
        return try (0..<count).map { _ in
            #if canImport(Glibc)
            let socket = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
            #else
            let socket = socket(AF_INET, SOCK_STREAM, 0)
            #endif
            sockets.append(socket)
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
            var size = socklen_t(MemoryLayout<sockaddr_in>.size)
            let port = withUnsafeMutablePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address -> UInt16? in
                    guard bind(socket, address, size) == 0, getsockname(socket, address, &size) == 0 else { return nil }
                    return address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
                        UInt16(bigEndian: $0.pointee.sin_port)
                    }
                }
            }
            return try #require(port)
        }
    }
}
