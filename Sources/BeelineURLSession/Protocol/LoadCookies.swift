// SPDX-License-Identifier: Apache-2.0

import Beeline
import Foundation
import NIOConcurrencyHelpers

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// The cookie settings of a request and its session, for the client.
struct LoadCookies: Sendable {
    /// The cookies that the program set itself, as a Cookie field.
    let explicit: String?
    /// The jar for the cookies to send and keep.
    let jar: CookieJar?
    let sends: Bool
    let keeps: Bool
    /// Whether to keep the cookies of a URL; `nil` keeps all.
    let keepsOf: (@Sendable (HTTPURL) -> Bool)?
    /// The mirror that syncs the jar with the session's storage.
    let mirror: CookieStorageMirror?

    init(_ request: URLRequest, field: String?, configuration: URLSessionConfiguration, binding: ClientBinding) {
        let storage = configuration.httpCookieStorage
        let handles = request.httpShouldHandleCookies && storage != nil
        sends = handles && configuration.httpShouldSetCookies
        // The session and the storage each have a policy; the stricter one applies.
        let policies = [configuration.httpCookieAcceptPolicy, storage?.cookieAcceptPolicy]
        keeps = handles && !policies.contains(.never)
        let mirror = storage.map { binding.mirror(of: $0) }
        jar = mirror?.jar
        // A separate jar for the storage gets its cookies only from the mirror.
        let isNeeded = binding.settings.mirrorsCookies || mirror?.configuration.truth == .storage
        self.mirror = handles && isNeeded ? mirror : nil
        if policies.contains(.onlyFromMainDocumentDomain),
            let page = request.mainDocumentURL.flatMap({ try? HTTPURL($0) })
        {
            keepsOf = { Site(of: $0) == Site(of: page) }
        } else {
            keepsOf = nil
        }
        explicit = Self.explicit(field, url: request.url, configuration: configuration, mirror: mirror)
    }

    /// The cookies that the program itself set in the Cookie field. On Linux the session has added the storage's cookies for
    /// the host when the task was created, without checking Secure and path. These are removed, because the jar sends the
    /// current ones: they may have changed since, or be deleted after a logout.
    private static func explicit(
        _ field: String?,
        url: URL?,
        configuration: URLSessionConfiguration,
        mirror: CookieStorageMirror?
    ) -> String? {
        #if canImport(FoundationNetworking)
        guard let field, let url, configuration.httpShouldSetCookies, let storage = configuration.httpCookieStorage
        else { return field }
        let stored = Set((storage.cookies(for: url) ?? []).map(\.name))
        let departed = mirror?.departures.withLockedValue { $0.pairs(for: url) } ?? []
        let own = field.components(separatedBy: "; ").filter { pair in
            !stored.contains(String(pair.prefix { $0 != "=" })) && !departed.contains(pair)
        }
        return own.isEmpty ? nil : own.joined(separator: "; ")
        #else
        return field
        #endif
    }
}
