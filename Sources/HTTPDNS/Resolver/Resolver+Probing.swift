// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOPosix
public import Names

extension Resolver {
    /// Measures the endpoints of names by a TCP connection to each, closed as soon as it stands, and returns when all have
    /// been tried. Later resolutions of the same port have the near ones first and those that failed last.
    ///
    /// It costs servers a connection and tells them nothing; do it for the few names that a program cannot do without.
    /// Names with a single address are left alone.
    ///
    /// - Parameters:
    ///   - hosts: The names; those that nobody has an answer for are left out.
    ///   - port: Where to connect.
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
            // The server may have closed it already; that it stood is what counts.
            try await bootstrap.connect(to: address).get().close(promise: nil)
            return true
        } catch {
            return false
        }
    }
}
