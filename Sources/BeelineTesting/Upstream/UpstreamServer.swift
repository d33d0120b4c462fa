// SPDX-License-Identifier: Apache-2.0

public import Names

/// An HTTPDNS service on loopback that answers from a ``Zone`` in the forms of DNSPod, DoH and Aliyun.
///
/// ```swift
/// let upstream = try await UpstreamServer.start()
/// try upstream.zone.set("www.a.test", to: ["127.0.0.1", "127.0.0.2"], ttl: 60)
/// // … a resolver asks http://127.0.0.1:port/d?dn=www.a.test&ttl=1 …
/// #expect(upstream.queries.map(\.name) == ["www.a.test"])
/// #expect(upstream.connections.accepted == 1)
/// await upstream.stop()
/// ```
///
/// | request | form |
/// | --- | --- |
/// | `/d?dn=a,b&ttl=1[&type=aaaa\|addrs][&clientip=1][&query=1]` | DNSPod, in the clear |
/// | `/dns-query?dns=…`, or POST | DoH (RFC 8484) |
/// | `/resolve?name=…&type=…`, `/dns-query?name=…` | DoH in JSON, as of Google and Cloudflare |
/// | `/{account}/d?host=…&query=4,6`, `/{account}/resolve?host=a,b` | Aliyun, version 1, unsigned |
/// | `/v2/d?dn=a,b&q=4,6` | Aliyun, version 2, in the clear |
public final class UpstreamServer: Sendable {
    /// The names that it knows.
    public let zone: Zone
    private let origin: LoopbackOrigin
    private let log: Watched<[Query]>

    /// A question that came.
    public struct Query: Sendable {
        /// The forms in which an upstream is asked.
        public enum Form: String, Hashable, Sendable {
            /// DNSPod's plain form.
            case dnspod
            /// DNS messages over HTTP (RFC 8484).
            case doh
            /// DNS in JSON.
            case dohJSON
            /// Aliyun's first version.
            case aliyun
            /// Aliyun's second version.
            case aliyun2
        }

        /// The name that was asked for, as it was written.
        public let name: String
        /// The families that were asked for; empty for another record type.
        public let families: [IPAddress.Family]
        /// The form of the question.
        public let form: Form
        /// The request that carried it.
        public let request: ReceivedRequest
    }

    /// Starts a service.
    ///
    /// - Parameters:
    ///   - zone: the names; several services may share one.
    ///   - addresses: loopback addresses; all of them get the same port.
    ///   - port: the port; 0, the default, takes a free one.
    ///   - tls: TLS, which DoH needs; nil: none.
    /// - Throws: ``TestingError`` with code `badAddress` or `noPort`.
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

    /// Where it listens, in the order of the addresses that were asked for.
    public var endpoints: [Endpoint] { origin.endpoints }

    /// The first of ``endpoints``.
    public var endpoint: Endpoint { origin.endpoint }

    /// The questions so far, one for each name; at most 10,000.
    public var queries: [Query] { log.value }

    /// Returns the questions when there are at least `count` of them.
    ///
    /// - Throws: ``TestingError`` with code `timedOut` after `limit`.
    @discardableResult
    public func queries(atLeast count: Int, within limit: Duration = .seconds(10)) async throws -> [Query] {
        try await withTimeLimit(limit, { "\(count) queries; \(self.queries.count) came" }) { [log] in
            try await log.wait { $0.count >= count }
        }
    }

    /// The HTTP requests so far: each is one round trip.
    public var requests: [ReceivedRequest] { origin.requests }

    /// The connections so far.
    public var connections: ConnectionTally { origin.connections }

    /// Returns when the connections fulfil `condition`, such as `{ $0.open == 0 }`.
    ///
    /// - Throws: ``TestingError`` with code `timedOut` after `limit`.
    @discardableResult
    public func connections(
        within limit: Duration = .seconds(10),
        until condition: @escaping @Sendable (ConnectionTally) -> Bool
    ) async throws -> ConnectionTally {
        try await origin.connections(within: limit, until: condition)
    }

    /// Closes the port and all connections, and returns when they are gone.
    public func stop() async { await origin.stop() }
}
