// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Beeline
import BeelineServer

/// `beeline dns`: runs a DNS server.
struct DNSCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dns",
        abstract: "Run a DNS server (UDP, TCP, TLS) for programs and machines that can only use DNS.",
        discussion: """
            Addresses come from the resolver: cache, checks and upstreams as in every other command. Questions for other records go to \
            the upstreams that carry DNS messages (doh, dot, dns). The first line of output says where it listens. SIGHUP reloads \
            the configuration file, upstreams, lists, zones and certificate and reopens the access log; SIGTERM finishes the answers in progress and ends.
            """ + " " + NameArguments.specs
                + " Without --dns, this command leaves out system, because the system's resolver may ask this server."
    )

    @OptionGroup var names: NameArguments
    @OptionGroup var options: DNSArguments

    func run() async throws {
        let reload = try ReloadSignal()
        DescriptorLimit.raise()
        let (options, names) = (options, try names.options())
        let read = { @Sendable () throws(CommandFailure) in
            try DNSPlan(options, names, defaults: Defaults.load(), files: .real)
        }
        let plan = try read()
        try await Interruption.runCommand(signals: Interruption.serverSignals) { () async throws(CommandFailure) in
            try await DNSRunner(plan, reload: reload, readAgain: read).run()
        }
    }
}

/// Options of `dns` besides those for upstreams.
struct DNSArguments: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Listen at this address for UDP and TCP; port 0 selects a free port; may be repeated",
            valueName: "addr:port"
        )
    )
    var listen = ["127.0.0.1:53"]

    @Option(
        help: ArgumentHelp("Send this domain to an upstream; may be repeated", valueName: "domain=spec")
    )
    var dnsFor: [String] = []

    @Option(
        help: ArgumentHelp(
            "Read upstreams by domain from this file, as dnsmasq or dnsproxy write them; may be repeated",
            valueName: "file"
        ),
        completion: .file()
    )
    var dnsFile: [String] = []

    @Option(
        help: ArgumentHelp(
            "Block or rewrite the names of this list (hosts(5) or dnsmasq's address=); may be repeated",
            valueName: "file"
        ),
        completion: .file()
    )
    var list: [String] = []

    @Option(help: ArgumentHelp("Answer blocked names with nxdomain or zero (0.0.0.0 and ::)", valueName: "answer"))
    var blocked = "nxdomain"

    @OptionGroup var files: ServerFileArguments

    @Option(
        help: ArgumentHelp(
            "Listen here for DNS over TLS, with --cert and --key; may be repeated; default: the addresses of --listen, port 853",
            valueName: "addr:port"
        )
    )
    var listenTls: [String] = []

    @Option(
        help: ArgumentHelp(
            "Clients that may ask this machine's resolver for names such as printer.lan: none, loopback or all",
            valueName: "clients"
        )
    )
    var privateNames = "loopback"

    @Flag(help: "Send the clients' EDNS client subnets to the upstreams")
    var passSubnets = false

    @Option(
        help: ArgumentHelp(
            "Maximum queries per second of one client that is not on this machine; 0 for no limit (default: 200)",
            valueName: "number"
        )
    )
    var rate: Double?

    @Option(
        help: ArgumentHelp(
            "Expect the PROXY protocol (v1 or v2) on TCP and TLS connections of these load balancers; may be repeated",
            valueName: "addr[/bits]"
        )
    )
    var proxyProtocol: [String] = []

    @Option(
        help: ArgumentHelp(
            "Serve /metrics (Prometheus), /health and /ready here, by HTTP; without it they are not served",
            valueName: "addr:port"
        )
    )
    var metrics: String?

    @OptionGroup var operation: ServerOperationArguments
}
