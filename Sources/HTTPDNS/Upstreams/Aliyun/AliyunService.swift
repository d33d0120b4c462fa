// SPDX-License-Identifier: Apache-2.0

public import Names

/// The addresses and settings of Aliyun's HTTPDNS.
public struct AliyunService: Hashable, Sendable {
    /// Whether to use TLS. Default: true.
    package var isSecure = true
    /// The addresses for the first questions and for the scheduling call. Default, and if empty: the published ones for
    /// mainland China.
    package var addresses: [IPAddress]
    /// The port; nil: 443 or 80.
    package var port: UInt16?
    /// Names that the certificate may be for, the likeliest first: the service's documentation and its clients differ.
    public var certificateNames: [Host]
    /// The region whose addresses are requested: `cn`, `hk`, `sg`, `us`, `de` or `global`. Default: `global`.
    public var region = "global"

    /// Creates the settings.
    ///
    /// - Parameters:
    ///   - addresses: The addresses for the first questions and for the scheduling call; empty: the published ones for
    ///     mainland China.
    ///   - port: The port; nil: 443 with TLS, 80 without.
    ///   - isSecure: Whether to use TLS. Default true.
    public init(at addresses: [IPAddress] = [], port: UInt16? = nil, isSecure: Bool = true) {
        self.addresses = addresses.isEmpty ? Self.bootAddresses : addresses
        self.port = port
        self.isSecure = isSecure
        certificateNames = ["resolvers.httpdns.aliyuncs.com", "203.107.1.1"].compactMap { try? Host($0) }
    }

    /// The published addresses for mainland China.
    package static let bootAddresses: [IPAddress] = [
        "203.107.1.1", "203.107.1.97", "203.107.1.100", "203.119.238.240", "106.11.25.239", "59.82.99.47",
    ].compactMap { IPAddress($0) }

    func connected(_ transport: any UpstreamTransport) -> UpstreamService {
        let scheme: Scheme = isSecure ? .https : .http
        let port = port ?? scheme.defaultPort
        return UpstreamService(
            scheme,
            names: isSecure ? certificateNames : [],
            endpoints: addresses.map { Endpoint($0, port: port) },
            orElse: Endpoint(IPAddress(v4: 0xcb6b_0101), port: port),
            transport: transport
        )
    }
}

/// The encryption of questions and answers, in addition to TLS.
public enum AliyunEncryption: Hashable, Sendable {
    /// AES-128 in CBC mode, with a key of 16 octets.
    case cbc(key: [UInt8])
    /// AES-128 in GCM mode, with a key of 16 octets. Detects modified answers.
    case gcm(key: [UInt8])
}
