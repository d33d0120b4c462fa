// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineProxy
import BeelineWebDriver
import BeelineWebView

/// The code of BeelineWebDriver's guide, compiled.
private func openBrowser(proxy: BeelineProxy, jar: CookieJar, url: HTTPURL) async throws {
    var configuration = BrowserConfiguration()
    configuration.proxy = proxy.endpoint
    let browser = try await Browser.start(configuration)
    try await browser.cookieStore.handOver(from: jar, for: url)
    let following = browser.cookieStore.follow(jar)
    try await browser.navigate(to: url)
    await browser.waitUntilClosed()
    await following.stop()
    await browser.end()
}
