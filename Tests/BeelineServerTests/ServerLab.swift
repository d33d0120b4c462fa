// SPDX-License-Identifier: Apache-2.0

import BeelineServer
import BeelineTesting
import DirectHTTP
import Foundation
import HTTPDNS
import HTTPTypes
import NIOConcurrencyHelpers
import Names

/// A server over TLS with a zone and a scripted upstream, together with a transport for its clients.
final class ServerLab: Sendable {
    let folder: String
    /// The path of the private key; nil without TLS.
    let keyPath: String?
    let authority: TestAuthority
    let upstream: ScriptedUpstream
    let resolver: Resolver
    let server: HTTPDNSServer
    let endpoint: Endpoint
    let engine = Engine()
    let transport: EngineTransport
    let log: NIOLockedValueBox<[AccessRecord]>

    static let zone = """
        $ORIGIN corp.test.
        $TTL 1h
        @       SOA ns hostmaster ( 2026112101 2h 15m 2w 5m ) ; the zone's own
                NS  ns
        ns      A   192.0.2.53
        www     300 IN A 192.0.2.10
                IN  AAAA 2001:db8::10
        alias   60  CNAME www
        away    60  CNAME www.a.test.
        *.wild  A   192.0.2.77
        a.deep  TXT "one text" second
                MX  10 mx
        _s._tcp SRV 0 5 5060 sip
        Case    A   192.0.2.11
        below   NS  ns.below
        ns.below A  192.0.2.54

        """

    /// - Parameters:
    ///   - carrier: An upstream in place of the scripted one.
    ///   - table: A table that is asked first.
    init(
        carrier: (any Upstream)? = nil,
        table: (any Upstream)? = nil,
        _ change: (inout ServerConfiguration) throws -> Void = { _ in }
    ) async throws {
        folder = NSTemporaryDirectory() + "/beeline-server-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        authority = try TestAuthority()
        let certificate = try authority.certificate(for: "dns.test", "127.0.0.1").write(to: folder)
        try Data(Self.zone.utf8).write(to: URL(fileURLWithPath: "\(folder)/corp.zone"))
        upstream = ScriptedUpstream("script") { .answerFor($0) }
        var upstreams: [any Upstream] = [carrier ?? upstream]
        if let table { upstreams.insert(table, at: 0) }
        var settings = ResolverConfiguration(upstreams: upstreams, system: nil)
        settings.network.monitor = nil
        resolver = Resolver(settings)
        var configuration = ServerConfiguration()
        configuration.listen = Endpoint(IPAddress(v4: 0x7f00_0001), port: 0)
        configuration.tls = .init(certificate: certificate.chain, key: certificate.key)
        configuration.zones = ["\(folder)/corp.zone"]
        configuration.zoneInterval = .milliseconds(20)
        let log = NIOLockedValueBox<[AccessRecord]>([])
        self.log = log
        configuration.accessLog = { record in log.withLockedValue { $0.append(record) } }
        try change(&configuration)
        keyPath = configuration.tls?.key
        server = try HTTPDNSServer(configuration, resolver: resolver)
        endpoint = try await server.start()
        var tls = TLSSettings()
        tls.trustsSystemRoots = false
        tls.rootPEMs = [authority.rootPEM]
        transport = EngineTransport(engine: engine, tls: tls)
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    func stop() async {
        await engine.shutDown()
        await server.stop()
        await resolver.shutDown()
    }

    /// Sends a request to the server.
    func get(
        _ target: String,
        method: HTTPRequest.Method = .get,
        scheme: Names.Scheme = .https,
        message: [UInt8] = [],
        fields: HTTPFields = [:]
    ) async throws -> UpstreamReply {
        var request = UpstreamRequest(
            origin: Origin(
                scheme: scheme,
                host: scheme == .https ? try Host("dns.test") : Host(endpoint.address),
                port: endpoint.port
            ),
            endpoints: [endpoint],
            target: target
        )
        request.method = method
        request.body = message
        request.fields = fields
        if !message.isEmpty { request.fields[.contentType] = "application/dns-message" }
        return try await transport.exchange(request)
    }

    /// The server as a service for Aliyun's clients.
    func aliyun() throws -> AliyunService {
        var service = AliyunService(at: [endpoint.address], port: endpoint.port, isSecure: true)
        service.certificateNames = [try Host("dns.test")]
        return service
    }
}

extension ScriptedUpstream.Step {
    /// The answers of the upstream: `www.a.test` has both families, `none.test` does not exist, `broken.test` fails.
    fileprivate static func answerFor(_ question: Question) -> ScriptedUpstream.Step {
        let has = { (family: Families, records: Answer.Records) in question.families.contains(family) ? records : nil }
        switch question.host.text {
        case "broken.test": return .fail(UpstreamError(.lookupFailed, "SERVFAIL"))
        case "half.test" where question.families == .v6: return .fail(UpstreamError(.lookupFailed, "SERVFAIL"))
        case "none.test":
            let none = Answer.Records.absent(.noName, ttl: .seconds(30))
            return .answer(Answer(v4: has(.v4, none), v6: has(.v6, none)))
        case "many.test":
            let addresses = (0..<60).map { IPAddress(v4: 0xc633_6400 + $0) }
            return .answer(Answer(v4: has(.v4, .addresses(addresses, ttl: .seconds(60))), v6: nil))
        default:
            let last = question.subnet == nil ? UInt32(1) : 9
            return .answer(
                Answer(
                    v4: has(
                        .v4,
                        .addresses([IPAddress(v4: 0xc633_6400 + last), IPAddress(v4: 0xc633_6402)], ttl: .seconds(300))
                    ),
                    v6: has(.v6, .addresses([IPAddress(v6: 0x2001_0db8 << 32, 1)], ttl: .seconds(60)))
                )
            )
        }
    }
}
