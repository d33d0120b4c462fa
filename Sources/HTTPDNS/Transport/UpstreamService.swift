// SPDX-License-Identifier: Apache-2.0

import DirectHTTP
import HTTPTypes
import NIOConcurrencyHelpers
import Names

/// An upstream with several addresses. The address that answered last is asked first. After a failure the next is
/// asked.
final class UpstreamService: Sendable {
    private struct State {
        var endpoints: [Endpoint]
        var firstEndpoint = 0
        var firstName = 0
    }

    private let scheme: Scheme
    /// Names that the certificate may be for, the likeliest first; empty: the certificate is for the address.
    private let names: [Host]
    private let transport: any UpstreamTransport
    /// The endpoints of the configuration.
    private let configured: [Endpoint]
    /// The addresses and names, and the indices of those in use.
    private let state: NIOLockedValueBox<State>
    /// The endpoints that failed after the last answer. Over HTTP/2, a silent connection to one of them would be shared
    /// by further tries.
    private let failed = HedgeSide.Endpoints()

    /// The maximum number of tries per question.
    private static let maxTries = 3
    /// The time limit of a try if another one can follow.
    private static let tryLimit = Duration.milliseconds(1_200)
    /// The time limit of the last try for the service's addresses. The resolver's budget does not bound these questions.
    static let scheduleLimit = Duration.seconds(10)

    /// A service at these endpoints, or at `fallback` if there are none.
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
        configured = endpoints.isEmpty ? [fallback] : endpoints
        state = NIOLockedValueBox(State(endpoints: configured))
    }

    /// The service of a URL, at given addresses, or at its host if that is an address.
    ///
    /// - Throws: ``UpstreamError`` with code `misconfigured` if no address is known.
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

    /// Whether replies come over TLS from a server whose certificate was verified.
    var isAuthenticated: Bool { scheme.isSecure && transport.verifiesCertificates }

    /// The endpoints, the one in use first.
    var endpoints: [Endpoint] {
        state.withLockedValue { state in
            // The common case, which needs no copy.
            if state.firstEndpoint == 0 { return state.endpoints }
            return Array(state.endpoints[state.firstEndpoint...] + state.endpoints[..<state.firstEndpoint])
        }
    }

    /// Sets the endpoints that the service announced. The configured endpoints follow, because the announced ones are
    /// valid for hours and may all fail before they are updated.
    func use(_ announced: [Endpoint]) {
        guard !announced.isEmpty else { return }
        let endpoints = announced + configured.filter { !announced.contains($0) }
        state.withLockedValue { state in
            guard state.endpoints != endpoints else { return }
            state = State(endpoints: endpoints, firstName: state.firstName)
        }
    }

    /// The upstream's label: its name, or its first address, and the port.
    var label: String {
        let endpoint = endpoints[0]
        return Origin(scheme: scheme, host: names.first ?? Host(endpoint.address), port: endpoint.port).authority
    }

    /// Sends a question and reads the reply. Tries up to three addresses.
    ///
    /// - Parameters:
    ///   - make: Sets the request's target and fields; called for each try, because signatures contain the time.
    ///   - read: Parses the reply. If it throws an error with ``UpstreamError/Reaction/tryElsewhere``, the next address
    ///     is tried.
    func ask<Result>(
        make: (inout UpstreamRequest) throws(UpstreamError) -> Void,
        read: (UpstreamReply) throws(UpstreamError) -> Result
    ) async throws(UpstreamError) -> Result {
        let tries = min(Self.maxTries, max(endpoints.count, names.count))
        var tried = 0
        while true {
            tried += 1
            let request = try request(make, isLast: tried == tries)
            do throws(UpstreamError) {
                let result = try read(try await transport.exchange(request))
                if let used = request.side?.recorded { failed.remove(answered: used) }
                return result
            } catch {
                try moveOn(from: request, after: error, isLast: tried == tries)
            }
        }
    }

    // The rest is kept out of the async function so that its frame stays small.

    @inline(never)
    private func request(
        _ make: (inout UpstreamRequest) throws(UpstreamError) -> Void,
        isLast: Bool
    ) throws(UpstreamError) -> UpstreamRequest {
        let endpoints = endpoints
        let name = names.isEmpty ? Host(endpoints[0].address) : names[state.withLockedValue { $0.firstName }]
        var request = UpstreamRequest(
            origin: Origin(scheme: scheme, host: name, port: endpoints[0].port),
            // Connections are pooled by name. Without a name, the address is the name, so it is the only endpoint.
            endpoints: names.isEmpty ? [endpoints[0]] : endpoints,
            target: "/"
        )
        if !isLast { request.timeLimit = Self.tryLimit }
        if request.endpoints.count > 1 { request.side = HedgeSide(avoiding: failed, recording: HedgeSide.Endpoints()) }
        try make(&request)
        return request
    }

    /// Makes the next address the first. Throws the error if the address is not at fault, or if this was the last try.
    @inline(never)
    private func moveOn(from request: UpstreamRequest, after error: UpstreamError, isLast: Bool) throws(UpstreamError) {
        guard error.code.reaction == .tryElsewhere else { throw error }
        if let used = request.side?.recorded { failed.add(failed: used) }
        state.withLockedValue { state in
            // Another question may have moved on already.
            guard state.endpoints[state.firstEndpoint] == request.endpoints[0] else { return }
            if error.code == .untrusted, names.count > 1, names[state.firstName] == request.origin.host {
                state.firstName = (state.firstName + 1) % names.count
            } else {
                state.firstEndpoint = (state.firstEndpoint + 1) % state.endpoints.count
            }
        }
        guard !isLast, !Task.isCancelled else { throw error }
    }
}

extension Origin {
    /// The endpoints of an upstream: at the given addresses, or at the host if it is an address.
    func endpoints(_ addresses: [IPAddress]) throws(UpstreamError) -> [Endpoint] {
        let known = addresses.isEmpty ? [host.address].compactMap { $0 } : addresses
        guard !known.isEmpty else {
            throw UpstreamError(.misconfigured, "\(self): the addresses of \(host) are missing")
        }
        return known.map { Endpoint($0, port: port) }
    }
}
