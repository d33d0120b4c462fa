// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineStore

// The code of the guides of BeelineStore, CookieJar and Beeline to cookies, compiled.

func keepCookies() async throws {
    let store = try await CookieDatabase.open("/home/me/.local/share/app/cookies.sqlite")
    for message in store.report.messages { print(message) }

    let client = try BeelineClient(jar: store.jar)
    _ = try await client.get("https://www.example.com/")

    await client.shutDown()
    try await store.close()
}

func restoreSession(_ path: String) async throws -> CookieDatabase {
    var configuration = CookieDatabaseConfiguration()
    configuration.restoresSession = true
    return try await CookieDatabase.open(path, configuration: configuration)
}

func endSessions(_ store: CookieDatabase) async throws {
    store.jar.clearSession()  // all cookies that this process stored
    store.jar.endSession()  // all cookies without an expiry
    store.jar.removeAll()  // everything
    try await store.flush()  // the file is up to date now
}

func importProfile(_ jar: CookieJar) async throws {
    let found = try await BrowserProfile.cookies(at: "/home/me/.mozilla/firefox/x1y2z3.default")
    jar.insert(found.cookies)
    for problem in found.problems { print("row \(problem.line): \(problem.reason)") }
}

func exchangeFiles(_ jar: CookieJar, _ octets: [UInt8]) {
    let found = CookieFormat(of: octets).read(octets, now: .now)
    jar.insert(found.cookies)
    let file = CookieFormat.netscape.write(jar.allCookies())
    print(found.problems, file.count)
}

func requestWithoutCookies(_ client: BeelineClient) async throws {
    var options = RequestOptions()
    options.sendsCookies = false
    options.keepsCookies = false
    _ = try await client.get("https://www.test.com/", options: options)
}

func cookiesOfAResponse(_ client: BeelineClient) async throws {
    let response = try await client.get("https://www.example.com/login")
    for received in response.cookies {
        print(received.cookie.name, received.outcome?.description ?? "no jar")
    }
    print(response.hops.flatMap(\.cookies).count)
}
