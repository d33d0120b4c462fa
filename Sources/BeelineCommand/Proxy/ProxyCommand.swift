// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Beeline
import BeelineProxy

/// `beeline proxy`: runs a proxy for other programs.
struct ProxyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "proxy",
        abstract: "Run a proxy (HTTP and SOCKS5 on one port) that resolves names with HTTPDNS.",
        usage: "beeline proxy [<options>]",
        discussion: """
            The first line of output says where it listens. Refused requests get status 403 and the reason, unknown names \
            502.

            """ + NameArguments.specs
    )

    @Option(help: ArgumentHelp("Listen at this address; port 0 selects a free port", valueName: "addr:port"))
    var listen = "127.0.0.1:8118"

    @Option(help: ArgumentHelp("Require this user and the password in this file", valueName: "user:passfile"))
    var auth: String?

    @Option(
        help: ArgumentHelp("Serve this host and its subdomains at local URLs; may be repeated", valueName: "host")
    )
    var gateway: [String] = []

    @Flag(help: "Serve a PAC file and print its URL")
    var pac = false

    @Flag(name: [.customShort("v"), .customLong("verbose")], help: "Print one line for each tunnel")
    var verbose = false

    @OptionGroup var proxy: ProxyArguments
    @OptionGroup(title: "Names and trust") var names: NameArguments

    func run() async throws {
        let defaults = try Defaults.load()
        let client = try proxy.client(names, defaults, hasCookies: !gateway.isEmpty)
        let configuration = try configuration(defaults, files: .real)
        let lines = verbose
        let hosts = try gateway.map { text throws(CommandFailure) in try Self.host(text) }
        try await Interruption.runCommand { () async throws(CommandFailure) in
            try await Self.serve(configuration, client, isVerbose: lines, gateway: hosts)
        }
    }

    /// Makes the proxy's configuration from the options.
    func configuration(_ defaults: Defaults, files: InputFiles) throws(CommandFailure) -> ProxyConfiguration {
        var configuration = ProxyConfiguration()
        configuration.listen = try Endpoint(listen, defaultPort: 8118, option: "--listen")
        configuration.policy = try proxy.policy(names, defaults)
        configuration.policy.allowsPrivateTargets = configuration.listen.address.isLoopback
        configuration.servesPAC = pac
        configuration.gatewayHosts = DomainSet(gateway)
        if let auth { configuration.credentials = try Self.credentials(auth, files) }
        return configuration
    }

    private static func credentials(_ text: String, _ files: InputFiles) throws(CommandFailure) -> ProxyCredentials {
        let parts = text.split(separator: ":", maxSplits: 1)
        guard parts.count == 2 else { throw CommandFailure(.usage, "--auth: write USER:PASSFILE") }
        let password = try files.secretText(String(parts[1]), of: "--auth", form: "USER:PASSFILE")
            .prefix { $0 != "\n" && $0 != "\r\n" && $0 != "\r" }
        guard !password.isEmpty else { throw CommandFailure(.usage, "--auth: the file \(parts[1]) is empty") }
        return ProxyCredentials(user: String(parts[0]), password: String(password))
    }

    /// Reads a host of `--gateway`. It includes its subdomains, with or without `*.` or a dot before it.
    static func host(_ text: String) throws(CommandFailure) -> Host {
        do throws(NameError) {
            return try Host(text.dropFirst(text.hasPrefix("*.") ? 2 : text.hasPrefix(".") ? 1 : 0))
        } catch {
            throw CommandFailure(.usage, "--gateway: \(error.message); write a host without scheme, port and path")
        }
    }

    private static func serve(
        _ configuration: ProxyConfiguration,
        _ client: BeelineClient,
        isVerbose: Bool,
        gateway hosts: [Host]
    ) async throws(CommandFailure) -> CommandStatus {
        DescriptorLimit.raise()
        // The client watches for network changes until the proxy stops.
        async let _: Void = client.run()
        var configuration = configuration
        let lines = TerminalLines(.standardOutput)
        // A separate task prints the events, so that the proxy does not wait for a slow reader.
        let (events, continuation) = AsyncStream.makeStream(
            of: ProxyEvent.self,
            bufferingPolicy: .bufferingNewest(1_000)
        )
        if isVerbose { configuration.onEvent = { continuation.yield($0) } }
        let proxy = try await configuration.start(client: client)
        var failure: CommandFailure?
        do throws(CommandFailure) {
            try Self.announce(proxy, servesPAC: configuration.servesPAC, gateway: hosts)
            for await event in events {
                if let line = event.line { lines.add(line.singleLine) }
            }
        } catch {
            // Without this output, programs cannot find the proxy.
            failure = error
        }
        await proxy.stop(within: .seconds(1))
        await client.shutDown()
        await lines.finish()
        if let failure { throw failure }
        return .ok
    }

    /// Prints the URLs of the proxy, the PAC file and the gateway hosts.
    private static func announce(
        _ proxy: BeelineProxy,
        servesPAC: Bool,
        gateway hosts: [Host]
    ) throws(CommandFailure) {
        try StandardOutput.writeLine("listening at \(proxy.url)")
        if servesPAC { try StandardOutput.writeLine("PAC file at \(proxy.url)/proxy.pac") }
        for host in hosts {
            guard let root = try? HTTPURL(origin: Origin(scheme: .https, host: host)) else { continue }
            let url: HTTPURL?
            do throws(ProxyError) {
                url = try proxy.gateway?.localURL(for: root)
            } catch {
                throw CommandFailure(error)
            }
            if let url { try StandardOutput.writeLine("\(root) is at \(url)") }
        }
    }
}

extension ProxyEvent {
    /// The line that `-v` prints; nil for events without one.
    var line: String? {
        switch self {
        case .connected(let kind, let destination, let endpoint, let time):
            "\(kind.rawValue) \(destination) \(endpoint) \(Int64(clamping: time / .milliseconds(1))) ms"
        case .refused(let destination, let refusal):
            "\(refusal.status) \(destination.map { "\($0)" } ?? "-") \(refusal.message)"
        case .ended: nil
        }
    }
}
