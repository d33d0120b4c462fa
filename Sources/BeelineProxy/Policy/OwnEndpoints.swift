// SPDX-License-Identifier: Apache-2.0

package import Names

/// The endpoints that a proxy listens on, so that it does not connect to itself.
package struct OwnEndpoints: Hashable, Sendable {
    private let port: UInt16
    private let addresses: Set<IPAddress>

    /// - Parameter interfaces: the machine's addresses, used if the socket listens on an unspecified address.
    package init(listening: Endpoint, interfaces: [IPAddress] = []) {
        port = listening.port
        let address = listening.address.unmapped
        addresses = address.isUnspecified ? Set(interfaces.map(\.unmapped)) : [address]
        isEverywhere = address.isUnspecified
    }

    private let isEverywhere: Bool

    /// Whether a connection to this endpoint would reach the proxy itself.
    package func contains(_ endpoint: Endpoint) -> Bool {
        guard endpoint.port == port else { return false }
        let address = endpoint.address.unmapped
        return addresses.contains(address) || address.isUnspecified || (isEverywhere && address.isLoopback)
    }
}
