// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineProxy
import BeelineWebDriver
import BeelineWebView
import CookieJar

/// What `beeline open` does: a proxy, a browser behind it, and cookies that go both ways.
struct OpenRunner: Sendable {
    let url: HTTPURL
    let client: BeelineClient
    let proxy: ProxyConfiguration
    let browser: BrowserConfiguration
    let jar: JarFile?
    let jarBounds: CookieJarConfiguration
    let isVerbose: Bool

    /// For how long cookies are taken over from a browser that is to end, and it is asked to end; then it is killed.
    private static let cleanupLimit = Duration.seconds(10)

    /// Returns when the browser has been closed, or the task was cancelled.
    func run() async -> CommandStatus {
        DescriptorLimit.raise()
        async let _: Void = client.run()
        do throws(CommandFailure) {
            let open: OpenJar? =
                if let jar { try await OpenJar(jar, bounds: jarBounds) } else { nil }
            for message in open?.messages ?? [] { tell(message) }
            do throws(CommandFailure) {
                try await browse(with: open?.jar ?? CookieJar(configuration: jarBounds))
            } catch {
                // Whatever has come into the jar by then is kept.
                try await open?.save()
                throw error
            }
            try await open?.save()
            return .ok
        } catch {
            error.print()
            return error.status
        }
    }

    private func browse(with jar: CookieJar) async throws(CommandFailure) {
        var configuration = proxy
        // The proxy does not wait for the reader of its lines.
        let lines = TerminalLines(.standardError)
        if isVerbose { configuration.onEvent = { event in event.line.map { lines.add($0.singleLine) } } }
        let proxy: BeelineProxy
        do throws(ProxyError) {
            proxy = try await BeelineProxy.start(configuration, client: client)
        } catch {
            throw CommandFailure(error)
        }
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

    /// The cookies go in, the page is loaded, and both sides follow each other until the browser has gone.
    private func visit(_ browser: Browser, with jar: CookieJar) async {
        if browser.kind == .webKit, !self.browser.rootPEMs.isEmpty {
            tell("\(browser.kind.title) trusts the system's roots alone: --cacert does not hold for its pages")
        }
        let store = browser.cookieStore
        do throws(WebViewError) {
            let report = try await store.handOver(from: jar, for: url)
            for cookie in report.unsupported { tell("\(browser.kind.title) cannot hold the cookie \(cookie.name)") }
        } catch {
            tell("the page may not be logged in: \(error)")
        }
        var configuration = WebCookieFollowing.Configuration()
        // A tab for each host that a jar knows is not what anybody wants to see.
        let site = Site(of: url)
        if browser.kind == .webKit { configuration.shares = { $0.belongs(to: site) } }
        configuration.hostOfAddress = { [client] in try? client.resolver.onlyHost(of: $0) }
        let following = store.follow(jar, configuration: configuration)
        // Before the page is there, so that what it sets is newer than what the jar has.
        _ = try? await following.sync()
        do throws(WebDriverError) {
            try await browser.navigate(to: url)
        } catch {
            // The browser shows what went wrong, and the person before it goes on from there.
            if error.code != .ended { tell("\(error)") }
        }
        await browser.waitUntilClosed()
        // Ctrl-C cancels this task, but what is in the browser by now is still wanted.
        let end = Task {
            _ = try? await following.sync()
            await following.stop()
            await browser.end()
        }
        let limit = Task {
            try await Task.sleep(for: Self.cleanupLimit)
            end.cancel()
        }
        await end.value
        limit.cancel()
    }

    private func tell(_ message: String) { Terminal.standardError.writeLine("beeline: \(message.singleLine)") }
}

extension Cookie {
    /// Whether pages of a site use it.
    fileprivate func belongs(to site: Site) -> Bool {
        (try? Host(domain)).map { Site(isSecure: site.isSecure, host: $0) } == site
    }
}

extension CommandFailure {
    /// A browser that does not come up.
    init(_ error: WebDriverError) {
        self.init(error.code == .timedOut ? .timedOut : .unavailable, error.message)
    }
}
