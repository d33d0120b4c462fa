// SPDX-License-Identifier: Apache-2.0

/// The data of an HTTPS record for the connections to an endpoint (RFC 9460 §7).
package struct EndpointService: Hashable, Sendable {
    /// The protocols of the service, as ALPN identifiers; nil if the record does not restrict them.
    package var applicationProtocols: [String]?
    /// The `ECHConfigList` of the service (RFC 9848), not yet checked; nil if there is none.
    package var echConfigList: [UInt8]?
    /// Whether the record came over an authenticated connection, such as DNS over HTTPS. Default true.
    package var isAuthenticated = true

    package init(
        applicationProtocols: [String]? = nil,
        echConfigList: [UInt8]? = nil,
        isAuthenticated: Bool = true
    ) {
        self.applicationProtocols = applicationProtocols
        self.echConfigList = echConfigList
        self.isAuthenticated = isAuthenticated
    }
}
