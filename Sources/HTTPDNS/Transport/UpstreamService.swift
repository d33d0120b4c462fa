// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import NIOConcurrencyHelpers
import Names

/// An upstream's several addresses as one: the address that answered last is asked first, and one that does badly is
/// followed by the next.
final class UpstreamService: Sendable {
    private struct State {
        var endpoints: [Endpoint]
        var firstEndpoint = 0
        var firstName = 0
    }

    private let scheme: Scheme
    /// Names that the certificate may be for, the likeliest first; empty: each address is its own name.
    private let names: [Host]
    private let transport: any UpstreamTransport
    /// The addresses, and which are used now.
    private let state: NIOLockedValueBox<State>

    /// Addresses that one question goes to, at most.
    private static let maxTries = 3
    /// The time that an address has when there is another to try.
    private static let tryLimit = Duration.milliseconds(1_200)

    /// A service at these endpoints, or at `fallback` where there are none.
    init(
        _ scheme: Scheme,
        names: [Host] = [],
        endpoints: [Endpoint],
        orElse fallback: Endpoint,
        transport: any UpstreamTransport
    ) {
        self.scheme = scheme
        self.names = names
        self.transport = transport
        state = NIOLockedValueBox(State(endpoints: endpoints.isEmpty ? [fallback] : endpoints))
    }

    /// The service of a URL, at addresses that are known beforehand, or at its host where that is one.
    ///
    /// - Throws: ``UpstreamError`` with code `misconfigured` where no address is known.
    convenience init(
        _ origin: Origin,
        at addresses: [IPAddress],
        transport: any UpstreamTransport
    ) throws(UpstreamError) {
        let endpoints = try origin.endpoints(addresses)
        self.init(
            origin.scheme,
            names: [origin.host],
            endpoints: endpoints,
            orElse: endpoints[0],
            transport: transport
        )
    }

    /// The addresses, the one in use first.
    var endpoints: [Endpoint] {
        get {
            state.withLockedValue { state in
                // Most often the first answers, and nothing need be put together.
                if state.firstEndpoint == 0 { return state.endpoints }
                return Array(state.endpoints[state.firstEndpoint...] + state.endpoints[..<state.firstEndpoint])
            }
        }
        set {
            guard !newValue.isEmpty else { return }
            state.withLockedValue { state in
                guard state.endpoints != newValue else { return }
                state = State(endpoints: newValue, firstName: state.firstName)
            }
        }
    }

    /// What the upstream is called: its name, or its first address.
    var label: String {
        let endpoint = endpoints[0]
        return Origin(scheme: scheme, host: names.first ?? Host(endpoint.address), port: endpoint.port).authority
    }

    /// Asks, and reads the reply.
    ///
    /// - Parameters:
    ///   - make: The request's target and fields, made anew for each try, for signatures carry the time.
    ///   - read: What the reply says. Where it throws an error of ``UpstreamError/Reaction/tryElsewhere``, so does
    ///     the next address's turn come.
    func ask<Result>(
        _ make: (inout UpstreamRequest) throws(UpstreamError) -> Void,
        _ read: (UpstreamReply) throws(UpstreamError) -> Result
    ) async throws(UpstreamError) -> Result {
        let tries = min(Self.maxTries, max(endpoints.count, names.count))
        var tried = 0
        while true {
            tried += 1
            let request = try request(make, isLast: tried == tries)
            do throws(UpstreamError) {
                return try read(try await transport.exchange(request))
            } catch {
                try moveOn(from: request, error, isLast: tried == tries)
            }
        }
    }

    // No parts of what awaits the reply: what an asynchronous function needs at any time takes memory all the time.

    @inline(never)
    private func request(
        _ make: (inout UpstreamRequest) throws(UpstreamError) -> Void,
        isLast: Bool
    ) throws(UpstreamError) -> UpstreamRequest {
        let endpoints = endpoints
        let name = names.isEmpty ? Host(endpoints[0].address) : names[state.withLockedValue { $0.firstName }]
        var request = UpstreamRequest(
            origin: Origin(scheme: scheme, host: name, port: endpoints[0].port),
            // Connections are kept by name: an address that is its own name is asked for alone.
            endpoints: names.isEmpty ? [endpoints[0]] : endpoints,
            target: "/"
        )
        if !isLast { request.timeLimit = Self.tryLimit }
        try make(&request)
        return request
    }

    /// Has the next address asked first; throws the error where it is not this address' fault, or there is no other.
    @inline(never)
    private func moveOn(from request: UpstreamRequest, _ error: UpstreamError, isLast: Bool) throws(UpstreamError) {
        guard error.code.reaction == .tryElsewhere else { throw error }
        moveOn(from: request, untrusted: error.code == .untrusted)
        guard !isLast, !Task.isCancelled else { throw error }
    }

    private func moveOn(from request: UpstreamRequest, untrusted: Bool) {
        state.withLockedValue { state in
            // Others may have moved on since.
            guard state.endpoints[state.firstEndpoint] == request.endpoints[0] else { return }
            if untrusted, names.count > 1, names[state.firstName] == request.origin.host {
                state.firstName = (state.firstName + 1) % names.count
            } else {
                state.firstEndpoint = (state.firstEndpoint + 1) % state.endpoints.count
            }
        }
    }
}
