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
    let isVerbose: Bool

    /// Returns when the browser has been closed, or the task was cancelled.
    func run() async -> CommandStatus {
        DescriptorLimit.raise()
        do throws(CommandFailure) {
            let open: OpenJar? =
                if let jar { try await OpenJar(jar, jar: CookieJar()) } else { nil }
            for message in open?.messages ?? [] { tell(message) }
            do throws(CommandFailure) {
                try await browse(with: open?.jar ?? CookieJar())
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
        if isVerbose {
            configuration.onEvent = { event in
                if let line = event.line { Terminal.standardError.writeLine(line.singleLine) }
            }
        }
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
            failure = CommandFailure(error)
        }
        await proxy.stop()
        await client.shutDown()
        if let failure { throw failure }
    }

    private func visit(_ browser: Browser, with jar: CookieJar) async {
        let store = browser.cookieStore
        do {
            for cookie in jar.cookies(for: url) { try await store.set(cookie) }
        } catch {
            tell("the page may not be logged in: \(error)")
        }
        do throws(WebDriverError) {
            try await browser.navigate(to: url)
        } catch {
            // The browser shows what went wrong, and the person before it goes on from there.
            if error.code != .ended { tell("\(error)") }
        }
        await browser.waitUntilClosed()
        await Task { for cookie in (try? await store.cookies()) ?? [] { jar.insert(cookie) } }.value
        await Task { await browser.end() }.value
    }

    private func tell(_ message: String) { Terminal.standardError.writeLine("beeline: \(message.singleLine)") }
}

extension CommandFailure {
    /// A browser that does not come up.
    init(_ error: WebDriverError) {
        self.init(error.code == .timedOut ? .timedOut : .unavailable, error.message)
    }
}
