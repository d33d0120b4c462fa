// SPDX-License-Identifier: Apache-2.0

public import Names

/// Returns the endpoints of an origin when a connection must be opened. A resolver or a fixed list.
public protocol EndpointSource: Sendable {
    /// The endpoints of an origin, in the order to try them. Called once for each dial, never when an open connection is reused.
    ///
    /// - Throws: any error. The exchange then fails with code `unresolved` and this error as its cause.
    func endpoints(for origin: Origin) async throws -> EndpointList

    /// Other endpoints of an origin, for use after all endpoints of a list failed; nil if there are none. Called at
    /// most once for each dial. If it throws, the exchange fails as without other endpoints. Nil by default.
    func endpoints(for origin: Origin, insteadOf failed: EndpointList) async throws -> EndpointList?

    /// Called for each attempt as soon as its outcome is known, before the dial ends. It is called on an event loop and must not
    /// block. Does nothing by default.
    func attempted(_ attempt: Attempt, for origin: Origin)
}

extension EndpointSource {
    /// Returns nil.
    public func endpoints(for origin: Origin, insteadOf failed: EndpointList) -> EndpointList? { nil }

    /// Does nothing.
    public func attempted(_ attempt: Attempt, for origin: Origin) {}
}

/// An error by which an ``EndpointSource`` tells the engine's caller to send another request. The exchange fails with
/// this cause even if other endpoints were tried before.
package protocol EndpointSourceSignal: Error {}

/// Endpoints in the order to try them, with a context that the response returns.
public struct EndpointList: Sendable {
    /// The endpoints, in the order to try them. Only the first ``DialSettings/maxAttempts`` are tried.
    public var endpoints: [Endpoint]
    /// Returned as ``ConnectionInfo/context``, e.g. the resolution that gave the endpoints.
    public var context: (any Sendable)?
    /// The data of HTTPS records for some of the endpoints. Default empty.
    package var services: [Endpoint: EndpointService] = [:]

    /// The endpoint that is reported for a Unix domain socket.
    package static let unixSocket = EndpointList([Endpoint(IPAddress(v4: 0), port: 0)])

    /// Creates a list.
    public init(_ endpoints: [Endpoint], context: (any Sendable)? = nil) {
        self.endpoints = endpoints
        self.context = context
    }
}

extension EndpointList: EndpointSource {
    /// Returns the list itself for every origin.
    public func endpoints(for origin: Origin) -> EndpointList { self }
}
