// SPDX-License-Identifier: Apache-2.0

public import CookieJar
public import Foundation
import NIOConcurrencyHelpers
import Names

#if canImport(FoundationNetworking)
public import FoundationNetworking
#endif

/// The calls of the manager by whose name the articles on HTTPDNS keep cookies, over a `CookieJar`.
///
/// It is for programs that write an address into the URL of a request and do with cookies by hand what the name was good
/// for. Each call is handed the original URL, the one with the name:
///
/// ```swift
/// let manager = HTTPDNSCookieManager.shared
/// request.setValue(manager.requestCookieHeader(for: original), forHTTPHeaderField: "Cookie")
/// // … the request goes to the address, the response comes …
/// manager.handle(headerFields: response.allHeaderFields, for: original)
/// ```
///
/// A program that sends its requests by `BeelineClient` needs none of this. `docs/MIGRATION.md` maps the old calls.
public final class HTTPDNSCookieManager: Sendable {
    /// Says whether a cookie belongs to a URL.
    public typealias Filter = @Sendable (_ cookie: HTTPCookie, _ url: URL) -> Bool

    /// The manager of the process. Its jar is in memory.
    public static let shared = HTTPDNSCookieManager()

    /// The cookies.
    public let jar: CookieJar
    private let filter = NIOLockedValueBox<Filter?>(nil)

    /// A manager of its own, for a second account, or for a jar that has other users.
    public init(jar: CookieJar = CookieJar()) {
        self.jar = jar
    }

    /// Sets what a cookie must pass to be kept, sent and deleted for a URL, beside the rules of RFC 6265bis; nil, the
    /// default, is those rules alone.
    ///
    /// A filter can only narrow. The rules match domains by labels: `evil-test.com` and `test.com.evil.org` get nothing of
    /// `test.com`, whatever a filter says. It is not shown cookies that an `HTTPCookie` cannot hold; while there is a
    /// filter they are left out.
    public func setCookieFilter(_ filter: Filter?) {
        self.filter.withLockedValue { $0 = filter }
    }

    /// Keeps the cookies of a response.
    ///
    /// - Parameters:
    ///   - headerFields: The response's fields, such as `HTTPURLResponse.allHeaderFields`. `Set-Cookie` is found in any
    ///     letter case, and several cookies that were joined by commas are parted (`SetCookieSplitter`). An array of
    ///     texts, one for each field, needs no parting and is better.
    ///   - url: The URL with the name.
    /// - Returns: The cookies that were kept, with what they replaced gone. One that deletes is not among them.
    @discardableResult
    public func handle(headerFields: [AnyHashable: Any], for url: URL) -> [HTTPCookie] {
        guard let httpURL = try? HTTPURL(url) else { return [] }
        let filter = filter.withLockedValue { $0 }
        return Self.setCookies(in: headerFields).compactMap { field in
            let now = CookieTime.now
            // The jar has the last word.
            let octets = Array(field.utf8)
            guard
                let cookie = try? Cookie(setCookieOctets: octets, from: httpURL, now: now, acceptsInsecureNone: true)
            else { return nil }
            let object = HTTPCookie(cookie)
            if let filter, !(object.map { filter($0, url) } ?? false) { return nil }
            switch jar.store(field, from: httpURL, now: now) {
            case .kept, .replaced: return object
            case .deleted, .rejected: return nil
            }
        }
    }

    /// The value of the `Cookie` field for a request; nil where no cookie goes with it.
    public func requestCookieHeader(for url: URL) -> String? {
        guard let httpURL = try? HTTPURL(url) else { return nil }
        guard filter.withLockedValue({ $0 }) != nil else { return jar.header(for: httpURL) }
        let pairs = cookies(for: httpURL, url).map { "\($0.name)=\($0.value)" }
        return pairs.isEmpty ? nil : pairs.joined(separator: "; ")
    }

    /// Deletes the cookies that a request would get.
    ///
    /// - Returns: How many they were.
    @discardableResult
    public func deleteCookies(for url: URL) -> Int {
        guard let httpURL = try? HTTPURL(url) else { return 0 }
        return cookies(for: httpURL, url).reduce(0) { $0 + (jar.remove($1) ? 1 : 0) }
    }

    /// The cookies that a request gets, after the filter.
    private func cookies(for httpURL: HTTPURL, _ url: URL) -> [Cookie] {
        let cookies = jar.cookies(for: httpURL)
        guard let filter = filter.withLockedValue({ $0 }) else { return cookies }
        return cookies.filter { HTTPCookie($0).map { filter($0, url) } ?? false }
    }

    private static func setCookies(in headerFields: [AnyHashable: Any]) -> [String] {
        headerFields.flatMap { name, value -> [String] in
            guard let name = name as? String, name.lowercased() == "set-cookie" else { return [] }
            if let fields = value as? [String] { return fields }
            return (value as? String).map(SetCookieSplitter.split) ?? []
        }
    }
}
