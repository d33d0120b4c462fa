// SPDX-License-Identifier: Apache-2.0

public import Names

/// Where a proxy listens, so that it is not sent to itself for ever.
public struct OwnEndpoints: Hashable, Sendable {
    private let port: UInt16
    private let addresses: Set<IPAddress>

    /// - Parameters:
    ///   - listening: the address and port of the listening socket.
    ///   - interfaces: the machine's addresses, which an unspecified address stands for.
    public init(listening: Endpoint, interfaces: [IPAddress] = []) {
        port = listening.port
        let address = listening.address.unmapped
        addresses = address.isUnspecified ? Set(interfaces.map(\.unmapped)) : [address]
        isEverywhere = address.isUnspecified
    }

    private let isEverywhere: Bool

    /// Whether a connection to this endpoint would come back to the proxy.
    public func contains(_ endpoint: Endpoint) -> Bool {
        guard endpoint.port == port else { return false }
        let address = endpoint.address.unmapped
        return addresses.contains(address) || address.isUnspecified || (isEverywhere && address.isLoopback)
    }
}
