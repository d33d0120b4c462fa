// SPDX-License-Identifier: Apache-2.0

import Beeline

extension BeelineClient {
    /// Makes the client of a command.
    ///
    /// - Throws: ``CommandFailure`` with status `usage` if an upstream has invalid settings.
    static func make(
        _ configuration: ClientConfiguration,
        jar: CookieJar? = nil,
        hsts: HSTSStore? = HSTSStore()
    ) throws(CommandFailure) -> BeelineClient {
        do throws(UpstreamError) {
            return try BeelineClient(configuration, jar: jar, hsts: hsts)
        } catch {
            throw CommandFailure(.usage, error.message)
        }
    }
}

extension Resolver {
    /// Discovers NAT64 in an IPv6-only network, so that IPv4 hosts and upstreams can be reached. It is for short
    /// commands that do not watch the network.
    func discoverNAT64() async {
        guard let network = configuration.network.monitor?.current(), network.families == .v6 else { return }
        await networkChanged(to: network)
    }
}
