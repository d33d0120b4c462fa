// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineProxy
import BeelineWebDriver
import BeelineWebView
import CookieJar

/// Runs `beeline open`: starts a proxy and a browser, and syncs cookies between the browser and the jar.
struct OpenRunner: Sendable {
    let url: HTTPURL
    let client: BeelineClient
    let proxy: ProxyConfiguration
    let browser: BrowserConfiguration
    let jar: JarFile?
    let jarBounds: CookieJarConfiguration
    let isVerbose: Bool

    /// The limit for reading the last cookies of a browser that hangs.
    private static let lastSyncLimit = Duration.seconds(5)

    /// Returns when the browser is closed or the task is cancelled.
    func run() async throws(CommandFailure) -> CommandStatus {
        DescriptorLimit.raise()
        async let _: Void = client.run()
        try jar?.requireWritable()
        let open: OpenJar? =
            if let jar { try await OpenJar(jar, bounds: jarBounds) } else { nil }
        for message in open?.messages ?? [] { Terminal.log(message) }
        do throws(CommandFailure) {
            try await browse(with: open?.jar ?? CookieJar(configuration: jarBounds))
        } catch {
            // Save the cookies that reached the jar before the error.
            try await open?.save()
            throw error
        }
        try await open?.save()
        return .ok
    }

    private func browse(with jar: CookieJar) async throws(CommandFailure) {
        var configuration = proxy
        // The proxy must not wait for a slow terminal.
        let lines = TerminalLines(.standardError)
        if isVerbose { configuration.onEvent = { event in event.line.map { lines.add($0.singleLine) } } }
        let proxy = try await configuration.start(client: client)
        var settings = browser
        settings.proxy = proxy.endpoint
        let failure: CommandFailure?
        do throws(WebDriverError) {
            let browser = try await Browser.start(settings)
            await visit(browser, with: jar)
            failure = nil
        } catch {
            failure = Task.isCancelled ? nil : CommandFailure(error)
        }
        await proxy.stop()
        await client.shutDown()
        await lines.finish()
        if let failure { throw failure }
    }

    /// Hands over the cookies, loads the page and syncs cookies until the browser closes.
    private func visit(_ browser: Browser, with jar: CookieJar) async {
        if browser.kind == .webKit, !self.browser.rootPEMs.isEmpty {
            Terminal.log("\(browser.kind.title) trusts only the system's CAs: --cacert has no effect on its pages")
        }
        let store = browser.cookieStore
        do throws(WebViewError) {
            let report = try await store.handOver(from: jar, for: url)
            for cookie in report.unsupported {
                Terminal.log("\(browser.kind.title) cannot store the cookie \(cookie.name)")
            }
            for refusal in report.refused { Terminal.log("the page may not be logged in: \(refusal.reason)") }
        } catch {
            Terminal.log("the page may not be logged in: \(error)")
        }
        var configuration = WebCookieFollowing.Configuration()
        // WebKit needs a tab for each host to set its cookies, so share only those of this site.
        let site = Site(of: url)
        if browser.kind == .webKit { configuration.shares = { $0.belongs(to: site) } }
        configuration.hostOfAddress = { [client] in try? client.resolver.onlyHost(of: $0) }
        let following = store.follow(jar, configuration: configuration)
        // Sync before the load, so that cookies set by the page are newer than those of the jar.
        _ = try? await following.sync()
        do throws(WebDriverError) {
            try await browser.navigate(to: url)
        } catch {
            // The browser shows the error, and the user can continue there.
            if error.code != .ended { Terminal.log("\(error)") }
        }
        await browser.waitUntilClosed()
        // Ctrl-C cancels this task. The cookies in the browser must still be read, and the browser must be closed.
        let end = Task {
            await lastSync(following)
            await following.stop()
            await browser.end()
        }
        await end.value
    }

    /// Reads the last cookies of the browser, which may hang.
    private func lastSync(_ following: WebCookieFollowing) async {
        let sync = Task { () -> WebViewError? in
            do throws(WebViewError) {
                try await following.sync()
                return nil
            } catch {
                return error
            }
        }
        let limit = Task {
            try await Task.sleep(for: Self.lastSyncLimit)
            sync.cancel()
        }
        let error = await sync.value
        limit.cancel()
        guard jar != nil, let error else { return }
        let reason =
            error.code == .cancelled ? "the browser did not answer within \(Self.lastSyncLimit)" : error.message
        Terminal.log("the last changes of the browser's cookies may be missing in the jar: \(reason)")
    }
}

extension Cookie {
    /// Whether the cookie's domain belongs to a site.
    fileprivate func belongs(to site: Site) -> Bool {
        (try? Host(domain)).map { Site(isSecure: site.isSecure, host: $0) } == site
    }
}

extension CommandFailure {
    /// Makes a failure from a browser that does not start.
    init(_ error: WebDriverError) {
        self.init(error.code == .timedOut ? .timedOut : .unavailable, error.message)
    }
}
