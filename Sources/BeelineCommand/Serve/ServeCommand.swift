// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Beeline
import BeelineServer

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// `beeline serve`: runs an HTTPDNS server.
struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Answer names over HTTP: RFC 8484, DNS in JSON, DNSPod's form and Aliyun's.",
        discussion: """
            Its first line of output says where it listens. SIGHUP reads zones, certificate and accounts again and opens the access log anew; SIGTERM \
            finishes what is under way. Paths: /dns-query, /resolve?name=, /d?dn=, /ACCOUNT/d?host= and its signed forms, \
            /ACCOUNT/ss, /v2/d, /metrics, /health.
            """ + " " + NameArguments.specs
    )

    @OptionGroup var names: NameArguments
    @OptionGroup var options: ServeArguments

    func run() async throws {
        DescriptorLimit.raise()
        var configuration = try ClientConfiguration(names, defaults: try Defaults.load(), files: .real)
        configuration.jar = nil
        configuration.resolver.maxCachedNames = 100_000
        configuration.resolver.maxCachedOctets = 64 << 20
        let plan = try ServePlan(options, files: .real)
        let shared = try SharedCache(options, files: .real)
        configuration.resolver.shared = shared.answers
        let client = configuration
        // SIGHUP is not in the list because it reloads the files.
        let status = await Interruption.run(signals: [SIGINT, SIGTERM]) {
            do throws(CommandFailure) {
                let status = try await ServeRunner(client, plan).run()
                await shared.end()
                return status
            } catch {
                error.print()
                return error.status
            }
        }
        if status != .ok { throw ExitCode(status.rawValue) }
    }
}

/// Options of `serve` besides those for upstreams.
struct ServeArguments: ParsableArguments {
    @Option(help: ArgumentHelp("Listen here; port 0: the system picks", valueName: "addr:port"))
    var listen = "127.0.0.1:8053"

    @Option(help: ArgumentHelp("Serve this zone (RFC 1035 master file); repeat it", valueName: "file"))
    var zone: [String] = []

    @Option(help: ArgumentHelp("The certificate chain, for TLS (PEM)", valueName: "file"))
    var cert: String?

    @Option(help: ArgumentHelp("The certificate's key (PEM)", valueName: "file"))
    var key: String?

    @Option(
        help: ArgumentHelp(
            "Let this account ask in signed and encrypted forms; repeat it",
            valueName: "id:secretfile[:aesfile]"
        )
    )
    var account: [String] = []

    @Option(
        help: ArgumentHelp(
            "Tell Aliyun's clients to ask here, for instance at a load balancer; repeat it",
            valueName: "addr:port"
        )
    )
    var announce: [String] = []

    #if Redis
    @Option(
        help: ArgumentHelp("Share answers with other servers by this Redis or Valkey server", valueName: "host[:port]")
    )
    var redis: String?

    @Option(help: ArgumentHelp("Log in to it with the password in this file", valueName: "file"))
    var redisSecret: String?
    #endif

    @Flag(help: "Refuse the forms that have no accounts")
    var requireAccount = false

    @Option(help: ArgumentHelp("Questions a second of one client; 0 is no limit", valueName: "number"))
    var rate = 200.0

    @Option(
        help: ArgumentHelp(
            "Believe X-Forwarded-For of proxies and load balancers here; repeat it",
            valueName: "addr[/bits]"
        )
    )
    var trustProxy: [String] = []

    @Option(help: ArgumentHelp("Write a line a question to this file, - for standard error", valueName: "file"))
    var accessLog: String?
}
