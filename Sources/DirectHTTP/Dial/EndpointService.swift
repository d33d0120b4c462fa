// SPDX-License-Identifier: Apache-2.0

/// What an HTTPS record says about the connections to an endpoint (RFC 9460 §7).
package struct EndpointService: Hashable, Sendable {
    /// The protocols of the service, as ALPN identifiers; nil: the record does not restrict them.
    package var applicationProtocols: [String]?
    /// The `ECHConfigList` of the service (RFC 9848), not yet checked; nil: none.
    package var echConfigurations: [UInt8]?

    /// Creates the description of a service.
    package init(applicationProtocols: [String]? = nil, echConfigurations: [UInt8]? = nil) {
        self.applicationProtocols = applicationProtocols
        self.echConfigurations = echConfigurations
    }
}
