// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Beeline
import BeelineProxy
import BeelineWebDriver

/// `beeline run -- COMMAND…`: runs a program behind a proxy.
struct RunCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Run a program through a proxy that ends with the program.",
        usage: "beeline run [<options>] -- <command> ...",
        discussion: """
            Sets http_proxy, https_proxy, all_proxy and no_proxy for the program, in lower and upper case. The exit code is \
            the program's, or 127 if there is no such program.

            """ + NameArguments.specs
    )

    @OptionGroup var proxy: ProxyArguments
    @OptionGroup(title: "Names and trust") var names: NameArguments

    @Argument(parsing: .postTerminator, help: "The program and its arguments, after --")
    var command: [String]

    func run() async throws {
        // List the descriptors before opening any: `beeline run -- diff <(…) <(…)` passes descriptors to diff.
        let descriptors = ProgramLaunch.inherited
        let defaults = try Defaults.load()
        guard !command.isEmpty else { throw CommandFailure(.usage, "no program: write beeline run -- COMMAND") }
        let client = try proxy.client(names, defaults)
        var configuration = ProxyConfiguration()
        configuration.policy = try proxy.policy(names, defaults)
        configuration.servesPAC = false
        async let _: Void = client.run()
        let server = try await configuration.start(client: client)
        let environment = Self.environment(defaults.environment, proxy: server.url)
        let child = ChildProcess(command, environment: environment, descriptors: descriptors)
        let code = await child.run()
        await server.stop()
        await client.shutDown()
        if code != 0 { throw ExitCode(code) }
    }

    /// Returns the environment with the proxy variables. Keeps the existing proxy exceptions.
    static func environment(_ environment: [String: String], proxy: String) -> [String: String] {
        var result = environment
        for name in ["http_proxy", "https_proxy", "all_proxy"] {
            result[name] = proxy
            result[name.uppercased()] = proxy
        }
        let given = [environment["no_proxy"], environment["NO_PROXY"]].compactMap(\.self).first { !$0.isEmpty }
        let exceptions = given ?? "localhost,127.0.0.1,::1"
        result["no_proxy"] = exceptions
        result["NO_PROXY"] = exceptions
        return result
    }
}
