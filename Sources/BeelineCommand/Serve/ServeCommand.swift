// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Beeline
import BeelineServer

/// `beeline serve`: runs an HTTPDNS server.
struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Run an HTTPDNS server: DNS over HTTPS (RFC 8484), DNS in JSON, DNSPod's and Aliyun's forms.",
        discussion: """
            The first line of output says where it listens. A socket that systemd passes is used instead of --listen. SIGHUP reloads zones, certificate and accounts and reopens the access log; SIGTERM \
            finishes the answers in progress and ends, and a second one ends at once. Paths: /dns-query, /resolve?name=, /d?dn=, /ACCOUNT/d?host= and its signed forms, \
            /ACCOUNT/ss, /v2/d, /metrics, /health, /ready.
            """ + " " + NameArguments.specs
    )

    @OptionGroup var names: NameArguments
    @OptionGroup var options: ServeArguments

    func run() async throws {
        let reload = try ReloadSignal()
        DescriptorLimit.raise()
        let defaults = try Defaults.load()
        var configuration = try ClientConfiguration(names.options(), defaults: defaults, files: .real)
        configuration.resolver.enlargeCache()
        let socket = try PassedSocket.find(in: defaults.environment)
        var plan = try ServePlan(options, files: .real, socket: socket)
        let shared = try SharedCache(options, files: .real)
        configuration.resolver.cache.shared = shared.answers
        plan.configuration.quotas = shared.quotas
        let runner = ServeRunner(client: configuration, plan: plan, reload: reload)
        try await Interruption.runCommand(signals: Interruption.serverSignals) { () async throws(CommandFailure) in
            let status = try await runner.run()
            await shared.end()
            return status
        }
    }
}

/// Options of `serve` besides those for upstreams.
struct ServeArguments: ParsableArguments {
    @Option(help: ArgumentHelp("Listen at this address; port 0 selects a free port", valueName: "addr:port"))
    var listen = "127.0.0.1:8053"

    @OptionGroup var files: ServerFileArguments

    @Option(
        help: ArgumentHelp(
            "Accept signed and encrypted queries of this account; may be repeated",
            valueName: "id:secretfile[:aesfile]"
        )
    )
    var account: [String] = []

    @Option(
        help: ArgumentHelp(
            "Limit the questions of an account a second and a day, with --redis for all servers; may be repeated",
            valueName: "id=n/s[,n/d]"
        )
    )
    var accountQuota: [String] = []

    @Option(
        help: ArgumentHelp(
            "Tell Aliyun's clients to use this address, such as a load balancer's; may be repeated",
            valueName: "addr:port"
        )
    )
    var announce: [String] = []

    #if Redis
    @Option(
        help: ArgumentHelp("Share answers with other servers through this Redis or Valkey", valueName: "host[:port]")
    )
    var redis: String?

    @Option(
        help: ArgumentHelp("Log in to Redis with the password in this file", valueName: "file"),
        completion: .file()
    )
    var redisSecret: String?
    #endif

    @Flag(help: "Refuse queries in forms without accounts")
    var requireAccount = false

    @Option(
        help: ArgumentHelp(
            "Clients that may ask this machine's resolver for names such as printer.lan: none, loopback or all",
            valueName: "clients"
        )
    )
    var privateNames = "loopback"

    @Option(
        help: ArgumentHelp(
            "Maximum queries per second of one client; 0 for no limit (default: 200)",
            valueName: "number"
        )
    )
    var rate: Double?

    @Option(
        help: ArgumentHelp(
            "Maximum number of connections; fewer if the descriptor limit is lower",
            valueName: "number"
        )
    )
    var maxConnections = 10_000

    @Option(
        help: ArgumentHelp(
            "Trust X-Forwarded-For of these proxies and load balancers; may be repeated",
            valueName: "addr[/bits]"
        )
    )
    var trustProxy: [String] = []

    @Option(
        help: ArgumentHelp(
            "Expect the PROXY protocol (v1 or v2) on connections of these load balancers; may be repeated",
            valueName: "addr[/bits]"
        )
    )
    var proxyProtocol: [String] = []

    @OptionGroup var operation: ServerOperationArguments
}
