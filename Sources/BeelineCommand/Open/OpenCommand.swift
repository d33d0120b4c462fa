// SPDX-License-Identifier: Apache-2.0

public import ArgumentParser
import Beeline
import BeelineProxy
import BeelineWebDriver
import Dispatch

extension BrowserKind: ExpressibleByArgument {}

/// `beeline open URL`: opens a page in a browser with the jar's cookies.
struct OpenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "open",
        abstract: "Open a page in a browser that uses Beeline's proxy and the jar's cookies.",
        usage: "beeline open [<options>] <url>",
        discussion: """
            The browser uses a temporary profile. The cookies of the URL's site are copied from the jar into the browser \
            before the first load. While it is open, cookies of its pages are copied into the jar, which is written when the \
            last window closes, at Ctrl-C, or when the terminal is closed. --cacert also applies to the pages; Chromium and Firefox need certutil for it.

            """ + NameArguments.specs
    )

    @Option(help: "The browser (default: the first one that is installed)")
    var browser: BrowserKind?

    @OptionGroup var jar: JarArguments

    @Flag(name: [.customShort("v"), .customLong("verbose")], help: "Print one line for each tunnel")
    var verbose = false

    @OptionGroup var proxy: ProxyArguments
    @OptionGroup(title: "Names and trust") var names: NameArguments

    @Argument(help: "The URL to open; https:// may be omitted")
    var url: String

    func run() async throws {
        let runner = try runner(try Defaults.load(), files: .real)
        // Cleanup must finish, to remove the browser, its driver and the profile.
        try await Interruption.runCommand(cleanup: .seconds(15)) { () async throws(CommandFailure) in
            try await runner.run()
        }
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
        browser.kind = self.browser
        browser.blankPagePath = configuration.blankPagePath
        let tls = client.configuration.tls
        browser.rootPEMs = try tls.rootFiles.map { path throws(CommandFailure) in try files.asciiText(path) }
        browser.rootPEMs += tls.rootPEMs
        return OpenRunner(
            url: url,
            client: client,
            proxy: configuration,
            browser: browser,
            jar: (jar.jar ?? defaults.jar).map { JarFile($0) },
            jarBounds: try CookieJarConfiguration(maxCookies: jar.maxCookies),
            isVerbose: verbose
        )
    }
}
