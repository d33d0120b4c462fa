// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Beeline
import BeelineProxy
import CookieJar

/// Options for the proxy's targets and its upstream proxy.
struct ProxyArguments: ParsableArguments {
    @Option(help: ArgumentHelp("Allow tunnels to these ports (default: 443,80,8443)", valueName: "list"))
    var allowPorts: String?

    @Flag(help: "Resolve names with the system's resolver only")
    var noHttpdns = false

    @Option(
        name: [.customShort("x"), .customLong("proxy")],
        help: ArgumentHelp("Use this upstream proxy; \"\" for none", valueName: "url")
    )
    var proxy: String?

    @Option(help: ArgumentHelp("List of hosts that do not use the upstream proxy", valueName: "list"))
    var noproxy: String?

    /// Makes the client. The proxy uses its resolver.
    ///
    /// - Parameter hasCookies: whether the client also sends its own requests and needs a jar.
    func client(
        _ names: NameArguments,
        _ defaults: Defaults,
        hasCookies: Bool = false
    ) throws(CommandFailure) -> BeelineClient {
        var configuration = try ClientConfiguration(names.options(), defaults: defaults, files: .real)
        configuration.proxies = try ClientConfiguration.proxies(proxy, except: noproxy, defaults)
        if noHttpdns { configuration.isHTTPDNSEnabled = false }
        return try BeelineClient.make(configuration, jar: hasCookies ? CookieJar() : nil)
    }

    /// Returns the policy for the proxy's targets.
    func policy(_ names: NameArguments, _ defaults: Defaults) throws(CommandFailure) -> AccessPolicy {
        var policy = AccessPolicy()
        policy.allowsLocalAnswers = names.allowsLocalAnswers || defaults.allowsLocalAnswers
        guard let allowPorts else { return policy }
        let ports = allowPorts.split(separator: ",", omittingEmptySubsequences: false).map { UInt16($0) }
        guard !ports.contains(nil), !ports.contains(0) else {
            throw CommandFailure(.usage, "--allow-ports \"\(allowPorts)\": write ports with commas between them")
        }
        policy.tunnelPorts = Set(ports.compactMap(\.self))
        return policy
    }
}

extension ProxyConfiguration {
    /// Starts a proxy with these settings.
    func start(client: BeelineClient) async throws(CommandFailure) -> BeelineProxy {
        do throws(ProxyError) {
            return try await BeelineProxy.start(self, client: client)
        } catch {
            throw CommandFailure(error)
        }
    }
}

extension CommandFailure {
    /// Makes a failure from a proxy that does not start.
    init(_ error: ProxyError) {
        self.init(error.code == .needsCredentials ? .usage : .unavailable, error.message)
    }
}
