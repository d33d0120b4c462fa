// SPDX-License-Identifier: Apache-2.0

public import Names

/// Says where an origin is, when a connection must be opened: a resolver, or a fixed list.
public protocol EndpointSource: Sendable {
    /// The endpoints of an origin in the order to try them. Called once for each dial, never while a live connection serves.
    ///
    /// - Throws: whatever keeps it from answering; the exchange then ends with code `unresolved` and this cause.
    func endpoints(for origin: Origin) async throws -> EndpointList

    /// Hears of one attempt at one of its endpoints as soon as its end is known, before the dial is over. Called on an event
    /// loop: it must not block. Does nothing by default.
    func attempted(_ attempt: Attempt, for origin: Origin)
}

extension EndpointSource {
    /// Does nothing.
    public func attempted(_ attempt: Attempt, for origin: Origin) {}
}

/// Endpoints in the order to try them, with whatever their source wants to find again at the response.
public struct EndpointList: Sendable {
    /// In the order to try them. Bound: the first ``DialSettings/maximumAttempts`` are tried.
    public var endpoints: [Endpoint]
    /// Handed back as ``ConnectionInfo/context``, e.g. the resolution that gave the endpoints.
    public var context: (any Sendable)?

    /// A list.
    public init(_ endpoints: [Endpoint], context: (any Sendable)? = nil) {
        self.endpoints = endpoints
        self.context = context
    }
}

extension EndpointList: EndpointSource {
    /// A list is its own source: these endpoints, whatever the origin.
    public func endpoints(for origin: Origin) -> EndpointList { self }
}
