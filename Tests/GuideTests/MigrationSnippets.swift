// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineURLSession
import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

// The code of the guide to migration, compiled; see GuideSnippets.swift.

// MARK: HTTPDNSCookieManager

func oldForm(_ original: URL, _ address: String) async throws -> Data {
    let configuration = URLSessionConfiguration.default
    configuration.httpCookieStorage = nil  // otherwise its cookies for the address replace the field below
    configuration.httpShouldSetCookies = false
    let session = URLSession(configuration: configuration)
    let manager = HTTPDNSCookieManager.shared
    var parts = URLComponents(url: original, resolvingAgainstBaseURL: false)
    parts?.host = address
    guard let url = parts?.url else { throw URLError(.badURL) }
    var request = URLRequest(url: url)
    request.setValue(original.host, forHTTPHeaderField: "Host")
    request.setValue(manager.requestCookieHeader(for: original), forHTTPHeaderField: "Cookie")
    let (data, response) = try await session.data(for: request)
    if let response = response as? HTTPURLResponse {
        manager.handle(headerFields: response.allHeaderFields, for: original)
    }
    return data
}

func noAddressInTheURL(_ client: BeelineClient) async throws {
    let response = try await client.get("https://www.test.com/me")
    print(response.endpoint, response.hop.cookiesSent)
}

func cookieFilter() {
    HTTPDNSCookieManager.shared.setCookieFilter { cookie, url in
        cookie.name != "tracking" && url.scheme == "https"
    }
}

func deleteCookies(_ original: URL) {
    let count = HTTPDNSCookieManager.shared.deleteCookies(for: original)
    print(count)
}

func oneJar() throws -> BeelineClient {
    try BeelineClient(jar: HTTPDNSCookieManager.shared.jar)
}

func mirror() async {
    let mirror = CookieStorageMirror(jar: HTTPDNSCookieManager.shared.jar, storage: .shared)
    await mirror.run()  // until the task is cancelled
}

func repair(_ client: BeelineClient) throws {
    let address = IPAddress(v4: 0xcb00_7107)  // 203.0.113.7
    try HTTPCookieStorage.shared.rehome(from: address, knownTo: client.resolver)
    HTTPCookieStorage.shared.rehome(from: address, to: try Names.Host("www.test.com"))
}

// MARK: ASIHTTPRequest

func requestCookies(_ client: BeelineClient) async throws {
    _ = try await client.get("https://www.test.com/", fields: [.cookie: "theme=dark; lang=zh"])
}

func responseCookies(_ client: BeelineClient) async throws {
    let response = try await client.get("https://www.test.com/")
    for received in response.cookies {
        print(received.cookie.name, received.cookie.value, received.cookie.domain)
    }
    print(response.hops.flatMap(\.cookies))  // includes the redirects
}

func sessionCookies(_ jar: CookieJar) throws {
    let cookies = jar.allCookies()
    jar.insert(Cookie("theme", "dark", domain: "www.test.com"))
    print(cookies.count, jar.cookies(for: try HTTPURL("https://www.test.com/")).count)
}

func clearSession(_ jar: CookieJar) {
    let count = jar.clearSession()  // what this session stored, and nothing else
    print(count)
}

// MARK: Android

func cookiePolicy(_ client: BeelineClient) async throws {
    var all = CookieJarConfiguration()
    all.acceptPolicy = .all
    var none = CookieJarConfiguration()
    none.acceptPolicy = .none
    var mainDocumentOnly = CookieJarConfiguration()
    mainDocumentOnly.acceptPolicy = .onlyFromMainDocumentSite
    var own = CookieJarConfiguration()
    own.acceptPolicy = .custom { cookie, url in cookie.name != "tracking" && url.origin.scheme.isSecure }
    print(CookieJar(configuration: own))
}

func cookieManager(_ jar: CookieJar) throws {
    let url = try HTTPURL("https://www.test.com/")
    jar.store(["sid=1; Secure; HttpOnly", "theme=dark"], from: url)  // put(uri, responseHeaders)
    print(jar.header(for: url) ?? "")  // get(uri, requestHeaders)
}

func cookieStore(_ jar: CookieJar) throws {
    let url = try HTTPURL("https://www.test.com/")
    let cookie = Cookie("theme", "dark", domain: "www.test.com")
    jar.insert(cookie)  // add(uri, cookie)
    print(jar.cookies(for: url))  // get(uri)
    print(jar.allCookies())  // getCookies()
    print(Set(jar.allCookies().map(\.domain)))  // getURIs()
    jar.remove(cookie)  // remove(uri, cookie)
    jar.removeAll()  // removeAll()
}

func webCookieManager(_ jar: CookieJar) throws {
    let url = try HTTPURL("https://www.test.com/")
    print(jar.store("theme=dark; Path=/", from: url))  // setCookie(url, value, callback)
    print(jar.header(for: url) ?? "")  // getCookie(url)
    print(!jar.allCookies().isEmpty)  // hasCookies()
    jar.endSession()  // removeSessionCookies(callback)
    jar.removeExpired()  // removeExpiredCookie()
    jar.removeAll()  // removeAllCookies(callback)
}

func noCookies() throws -> BeelineClient {
    try BeelineClient(jar: nil)  // setAcceptCookie(false)
}
