// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Beeline
import BeelineProxy
import BeelineWebDriver
import Dispatch

/// `beeline open URL`: opens a page in a browser with the jar's cookies.
struct OpenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "open",
        abstract: "Open a page in a browser that goes through a proxy and has the jar's cookies.",
        usage: "beeline open [<options>] <url>",
        discussion: """
            The browser has a profile of its own, which is thrown away. The cookies of the URL's site go from the jar into it \
            before the first load; while it is open, cookies of its pages come back into the jar, which is written when its \
            last window closes, at Ctrl-C, or when the terminal is closed. --cacert holds for the pages, too; Chromium and Firefox need certutil for it.

            """ + NameArguments.specs
    )

    /// Values of `--browser`.
    enum BrowserName: String, ExpressibleByArgument, CaseIterable {
        case chromium, firefox, webkit
    }

    @Option(help: "The browser; default the first of these that is installed")
    var browser: BrowserName?

    @Option(
        help: ArgumentHelp(
            "The jar: .txt is Netscape's form, .json JSON, .sqlite a store; default $BEELINE_JAR",
            valueName: "file"
        )
    )
    var jar: String?

    @Flag(name: [.customShort("v"), .customLong("verbose")], help: "Print a line a tunnel")
    var verbose = false

    @OptionGroup var bound: JarBoundArguments
    @OptionGroup var proxy: ProxyArguments
    @OptionGroup(title: "Names and trust") var names: NameArguments

    @Argument(help: "What is opened; https:// may be left out")
    var url: String

    func run() async throws {
        let runner = try runner(try Defaults.load(), files: .real)
        // Cleanup must finish, to remove the browser, its driver and the profile.
        let status = await Interruption.run(cleanup: .seconds(15)) { await runner.run() }
        if status != .ok { throw ExitCode(status.rawValue) }
    }

    /// Makes the runner from the options.
    func runner(_ defaults: Defaults, files: InputFiles) throws(CommandFailure) -> OpenRunner {
        let url = try HTTPURL(argument: url)
        let client = try proxy.client(names, defaults)
        var configuration = ProxyConfiguration()
        configuration.policy = try proxy.policy(names, defaults)
        // The page's own port must be allowed, even if it is not a default port.
        if !configuration.policy.tunnelPorts.isEmpty { configuration.policy.tunnelPorts.insert(url.origin.port) }
        configuration.servesPAC = false
        configuration.blankPagePath = ProxyConfiguration.unguessablePath()
        var browser = BrowserConfiguration()
        browser.kind = self.browser.flatMap { BrowserKind(rawValue: $0.rawValue) }
        browser.blankPagePath = configuration.blankPagePath
        browser.rootPEMs = try client.configuration.tls.rootFiles.map { path throws(CommandFailure) in
            try files.text(path)
        }
        return OpenRunner(
            url: url,
            client: client,
            proxy: configuration,
            browser: browser,
            jar: (jar ?? defaults.jar).map { JarFile($0) },
            jarBounds: try bound.configuration(),
            isVerbose: verbose
        )
    }
}
