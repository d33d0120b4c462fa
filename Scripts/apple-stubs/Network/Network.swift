// SPDX-License-Identifier: Apache-2.0
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

// What Beeline uses of Apple's Network, which is nowhere else: signatures alone, for Scripts/check-apple, as a module of that
// name.

public import Dispatch
public import FoundationNetworking

public enum NWEndpoint {
    public struct Host: Sendable {
        public init(_ text: String) {}
    }

    public struct Port: Sendable {
        public init?(rawValue: UInt16) {}
    }

    case hostPort(host: Host, port: Port)
}

public struct ProxyConfiguration: Sendable {
    public struct Options: Sendable {}

    public var excludedDomains: [String] = []

    public init(httpCONNECTProxy endpoint: NWEndpoint, tlsOptions: Options? = nil) {}
    public mutating func applyCredential(username: String, password: String) {}
}

extension URLSessionConfiguration {
    public var proxyConfigurations: [ProxyConfiguration] {
        get { [] }
        set {}
    }
}

public final class NWPathMonitor: @unchecked Sendable {
    public struct Path: Sendable {}

    public var pathUpdateHandler: (@Sendable (Path) -> Void)?

    public init() {}
    public func start(queue: DispatchQueue) {}
    public func cancel() {}
}
