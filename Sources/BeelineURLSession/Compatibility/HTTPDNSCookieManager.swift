// SPDX-License-Identifier: Apache-2.0

public import CookieJar
public import Foundation
import NIOConcurrencyHelpers
import Names

#if canImport(FoundationNetworking)
public import FoundationNetworking
#endif

/// A replacement for the cookie manager of the same name in articles on HTTPDNS. It keeps the cookies in a `CookieJar`.
///
/// It is for programs that replace the host of a request's URL by an address and handle cookies by hand. Pass the original URL,
/// with the host name, to each call:
///
/// ```swift
/// let manager = HTTPDNSCookieManager.shared
/// request.setValue(manager.requestCookieHeader(for: original), forHTTPHeaderField: "Cookie")
/// // … the request goes to the address, the response comes …
/// manager.handle(headerFields: response.allHeaderFields, for: original)
/// ```
///
/// A program that uses `BeelineClient` does not need it. Beeline's guide to migration maps the old
/// calls.
public final class HTTPDNSCookieManager: Sendable {
    /// Decides whether a cookie belongs to a URL.
    public typealias Filter = @Sendable (_ cookie: HTTPCookie, _ url: URL) -> Bool

    /// The manager of the process. Its jar is in memory only.
    public static let shared = HTTPDNSCookieManager()

    /// The cookie jar.
    public let jar: CookieJar
    private let filter = NIOLockedValueBox<Filter?>(nil)

    /// Creates a manager, for example for a second account or with a shared jar.
    public init(jar: CookieJar = CookieJar()) {
        self.jar = jar
    }

    /// Sets a filter that a cookie must pass to be kept, sent or deleted for a URL, in addition to the rules of RFC 6265bis.
    /// Default `nil`: only those rules apply.
    ///
    /// A filter can only reject more cookies. The rules match domains by labels: a cookie of `test.com` never reaches
    /// `evil-test.com` or `test.com.evil.org`, whatever the filter says. The filter does not see cookies that `HTTPCookie`
    /// cannot represent; while a filter is set, such cookies are left out.
    public func setCookieFilter(_ filter: Filter?) {
        self.filter.withLockedValue { $0 = filter }
    }

    /// Keeps the cookies of a response.
    ///
    /// - Parameters:
    ///   - headerFields: The fields of the response, such as `HTTPURLResponse.allHeaderFields`. `Set-Cookie` may have any
    ///     letter case. Cookies that are joined by commas are split (`SetCookieSplitter`). An array with one string for each
    ///     field needs no splitting and is more reliable.
    ///   - url: The original URL, with the host name.
    /// - Returns: The cookies that were kept. A cookie that only deletes another one is not included.
    @discardableResult
    public func handle(headerFields: [AnyHashable: Any], for url: URL) -> [HTTPCookie] {
        guard let httpURL = try? HTTPURL(url) else { return [] }
        let filter = filter.withLockedValue { $0 }
        return Self.setCookies(in: headerFields).compactMap { field in
            let now = CookieTime.now
            // Parses leniently: the jar decides whether to accept the cookie.
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

    /// The value of the `Cookie` field for a request; `nil` if there are no cookies for the URL.
    public func requestCookieHeader(for url: URL) -> String? {
        guard let httpURL = try? HTTPURL(url) else { return nil }
        guard filter.withLockedValue({ $0 }) != nil else { return jar.header(for: httpURL) }
        let pairs = cookies(for: httpURL, url).map { "\($0.name)=\($0.value)" }
        return pairs.isEmpty ? nil : pairs.joined(separator: "; ")
    }

    /// Deletes the cookies that a request to the URL would send.
    ///
    /// - Returns: The number of deleted cookies.
    @discardableResult
    public func deleteCookies(for url: URL) -> Int {
        guard let httpURL = try? HTTPURL(url) else { return 0 }
        return cookies(for: httpURL, url).reduce(0) { $0 + (jar.remove($1) ? 1 : 0) }
    }

    /// The cookies that a request to the URL sends, after the filter.
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
