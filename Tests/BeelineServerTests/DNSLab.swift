// SPDX-License-Identifier: Apache-2.0

import HTTPDNS
import NIOCore
import Names

@testable import BeelineServer

/// A DNS service in front of doubles, without sockets.
struct DNSLab {
    static let loopback = IPAddress(v4: 0x7f00_0001)
    static let far = IPAddress(v4: 0xc000_0201)
    static let text = DNSType(rawValue: 16)
    static let mail = DNSType(rawValue: 15)

    let resolver: Resolver
    let service: DNSService

    /// - Parameter limit: How long an upstream may take. Nil for the default.
    init(
        _ upstreams: [any Upstream],
        system: (any Upstream)? = nil,
        rules: String = "",
        zones: ZoneFiles? = nil,
        limit: Duration? = nil,
        change: (inout DNSServerConfiguration) -> Void = { _ in }
    ) throws {
        var configuration = DNSServerConfiguration()
        change(&configuration)
        var settings = ResolverConfiguration(upstreams: upstreams, system: system)
        settings.network.monitor = nil
        if let limit { (settings.limits.upstream, settings.limits.total) = (limit, limit) }
        resolver = Resolver(settings)
        var answerer = Answerer(backend: NameBackend(resolver), zones: try zones ?? ZoneFiles([]))
        var names = NameRules()
        names.blockedAnswer = configuration.blockedAnswer
        names.add(parsing: rules)
        answerer.rules = names
        service = DNSService(configuration, answerer: answerer)
    }

    /// A query with an OPT record.
    static func query(
        _ name: String,
        _ type: DNSType,
        wantsSignatures: Bool = false,
        wantsVerdict: Bool = false
    ) -> [UInt8] {
        var octets: [UInt8] = [0x12, 0x34, 1, wantsVerdict ? 0x20 : 0, 0, 1, 0, 0, 0, 0, 0, 1]
        octets += DNSName(name)?.wire ?? []
        octets += [UInt8(type.rawValue >> 8), UInt8(type.rawValue & 255), 0, 1]
        return octets + [0, 0, 41, 4, 208, 0, 0, wantsSignatures ? 0x80 : 0, 0, 0, 0]
    }

    /// The way a query is handled, for tests that need several at once.
    func handle(
        _ query: [UInt8],
        from client: IPAddress = loopback,
        over transport: DNSService.Transport = .udp
    ) -> DNSService.MessageHandling {
        service.handle(query, from: client, transport, now: .now())
    }

    /// The reply to a query.
    func reply(_ handling: DNSService.MessageHandling) async throws -> DNSMessage {
        guard let octets = await service.octets(of: handling) else { throw ServerError(.cannotListen, "no reply") }
        return try DNSMessage(octets: octets)
    }

    func ask(_ query: [UInt8], from client: IPAddress = loopback) async throws -> DNSMessage {
        try await reply(handle(query, from: client))
    }
}

extension DNSService {
    /// The reply to a message, at once or after its lookup; nil without a reply.
    func reply(
        to octets: [UInt8],
        from client: IPAddress = DNSLab.loopback,
        over transport: Transport = .udp
    ) async -> [UInt8]? {
        await self.octets(of: handle(octets, from: client, transport, now: .now()))
    }

    func octets(of handling: MessageHandling) async -> [UInt8]? {
        switch handling {
        case .silence: return nil
        case .reply(let octets): return octets
        case .later(let wait, _):
            defer { finishQuestion() }
            return await wait()
        }
    }
}
