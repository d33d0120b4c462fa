// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOPosix
public import Names

extension Resolver {
    /// Measures the endpoints of names with a TCP connection to each, which is closed once established. Returns when
    /// all have been tried. Later resolutions with the same port put near endpoints first and failed ones last.
    ///
    /// A probe costs the server a connection and sends no data; use it for the few names that a program depends on.
    /// Names with a single address are skipped.
    ///
    /// - Parameters:
    ///   - hosts: The names; those that cannot be resolved are skipped.
    ///   - port: The port to connect to.
    public func probe(_ hosts: [Host], port: UInt16 = 443) async {
        var places: [(host: Host, endpoint: Endpoint)] = []
        for host in hosts where host.address == nil {
            guard let resolution = try? await resolve(host, port: port), resolution.addresses.count > 1 else {
                continue
            }
            places += resolution.endpoints.prefix(configuration.maxProbedEndpoints).map { (host, $0) }
        }
        await forEach(places) { place in
            let begin = self.time.now()
            let isConnected = await self.connects(place.endpoint)
            let outcome: AttemptOutcome = isConnected ? .connected(after: self.time.now() - begin) : .failed
            guard !Task.isCancelled else { return }
            self.report(outcome, at: place.endpoint, for: place.host)
        }
    }

    private func connects(_ endpoint: Endpoint) async -> Bool {
        do {
            let address = try SocketAddress(ipAddress: "\(endpoint.address)", port: Int(endpoint.port))
            let bootstrap = ClientBootstrap(group: loop).connectTimeout(TimeAmount(configuration.probeLimit))
            // The server may have closed the connection already; only that it was established counts.
            try await bootstrap.connect(to: address).get().close(promise: nil)
            return true
        } catch {
            return false
        }
    }
}
