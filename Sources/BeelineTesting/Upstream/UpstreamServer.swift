// SPDX-License-Identifier: Apache-2.0

public import Names

/// An HTTPDNS service on loopback. It answers from a ``Zone`` in the formats of DNSPod, DoH and Aliyun.
///
/// ```swift
/// let upstream = try await UpstreamServer.start()
/// try upstream.zone.set("www.a.test", to: ["127.0.0.1", "127.0.0.2"], ttl: 60)
/// // … a resolver queries http://127.0.0.1:port/d?dn=www.a.test&ttl=1 …
/// #expect(upstream.queries.map(\.name) == ["www.a.test"])
/// await upstream.stop()
/// ```
///
/// | request | format |
/// | --- | --- |
/// | `/d?dn=a,b&ttl=1[&type=aaaa\|addrs][&clientip=1][&query=1]` | DNSPod, unencrypted |
/// | `/dns-query?dns=…`, or POST | DoH (RFC 8484) |
/// | `/resolve?name=…&type=…`, `/dns-query?name=…` | DoH JSON, as Google and Cloudflare use it |
/// | `/{account}/d?host=…&query=4,6`, `/{account}/resolve?host=a,b` | Aliyun, version 1, unsigned |
/// | `/v2/d?dn=a,b&q=4,6` | Aliyun, version 2, unencrypted |
public final class UpstreamServer: Sendable, LoopbackServer {
    /// The names of the service.
    public let zone: Zone
    private let origin: LoopbackOrigin
    private let log: Watched<[Query]>
    package var listener: LoopbackListener { origin.listener }

    /// A received query.
    public struct Query: Sendable {
        /// The query formats.
        package enum Form: String, Hashable, Sendable {
            /// DNSPod's plain format.
            case dnspod
            /// DNS messages over HTTP (RFC 8484).
            case doh
            /// DNS in JSON.
            case dohJSON
            /// Version 1 of Aliyun's API.
            case aliyun
            /// Version 2 of Aliyun's API.
            case aliyun2
        }

        /// The requested name, as sent.
        public let name: String
        /// The requested families; empty for any other record type.
        public let families: [IPAddress.Family]
        /// The query format.
        package let form: Form
        /// The HTTP request.
        public let request: ReceivedRequest
    }

    /// Starts a service.
    ///
    /// - Parameters:
    ///   - zone: The names. Several services may share a zone.
    ///   - addresses: The loopback addresses. All use the same port.
    ///   - port: The port. Default 0: a free port.
    ///   - tls: The TLS settings, which DoH needs; nil: no TLS.
    /// - Throws: ``TestingError`` if an address is not a loopback address of this machine, or no port is free on all of
    ///   them.
    public static func start(
        zone: Zone = Zone(),
        addresses: [String] = ["127.0.0.1"],
        port: UInt16 = 0,
        tls: ServerTLS? = nil
    ) async throws -> UpstreamServer {
        let log = Watched<[Query]>([])
        let responder = UpstreamResponder(zone: zone, log: log)
        let origin = try await LoopbackOrigin.start(addresses: addresses, port: port, tls: tls) { request in
            try await responder.answer(request)
        }
        return UpstreamServer(zone: zone, origin: origin, log: log)
    }

    private init(zone: Zone, origin: LoopbackOrigin, log: Watched<[Query]>) {
        self.zone = zone
        self.origin = origin
        self.log = log
    }

    /// The endpoints, in the order of the given addresses.
    public var endpoints: [Endpoint] { origin.endpoints }

    /// The first of ``endpoints``.
    public var endpoint: Endpoint { origin.endpoint }

    /// The recorded queries, one for each name; at most 10,000.
    public var queries: [Query] { log.value }

    /// Waits until there are at least `count` queries, and returns them.
    ///
    /// - Throws: ``TestingError`` with code `timedOut` after `limit`.
    @discardableResult
    public func queries(atLeast count: Int, within limit: Duration = .seconds(10)) async throws -> [Query] {
        try await withTimeLimit(limit, for: { "\(count) queries; \(self.queries.count) came" }) { [log] in
            try await log.wait { $0.count >= count }
        }
    }

    /// The recorded HTTP requests; each is one round trip.
    package var requests: [ReceivedRequest] { origin.requests }

    /// Closes the port and all connections, and returns when their work has ended.
    public func stop() async { await origin.stop() }
}
