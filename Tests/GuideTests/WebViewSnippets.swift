// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineWebView

// The code of BeelineWebView's guide for all platforms.

func handOver(jar: CookieJar, store: some WebCookieStore, url: HTTPURL) async throws {
    let done = try await store.handOver(from: jar, for: url)
    print(done.count, done.unsupported.map(\.name))
    // now load the page
}

func followStore(_ jar: CookieJar, _ store: some WebCookieStore) async throws {
    var configuration = WebCookieFollowing.Configuration()
    configuration.beginsFromJar = true  // the jar is kept on disk and wins over the web view's own files
    configuration.onReport = { print($0) }
    let following = store.follow(jar, configuration: configuration)  // keep it
    try await following.sync()  // both agree now
    await following.stop()
}

func rehomeStore(store: some WebCookieStore, address: IPAddress, host: Host) async throws {
    let result = try await store.rehome(from: address, to: host)
    print(result.moved, result.superseded, result.refused)
}

func rehomeWhileFollowing(_ resolver: Resolver, _ configuration: inout WebCookieFollowing.Configuration) {
    configuration.hostOfAddress = { address in
        let hosts = resolver.hosts(of: address)
        return hosts.count == 1 ? hosts[0] : nil
    }
}

func firstLoad(_ jar: CookieJar, _ url: HTTPURL) {
    let first = FirstLoad(of: url, from: jar)
    print(first.cookieHeader ?? "no cookies", first.script)
}

/// A cookie store for another kind of browser.
struct MyBrowserCookies: WebCookieStore {
    func cookies() async throws -> [Cookie] { [] }
    func set(_ cookie: Cookie) async throws {}
    func delete(_ cookie: Cookie) async throws {}
}
