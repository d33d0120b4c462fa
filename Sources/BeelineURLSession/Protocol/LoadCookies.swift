// SPDX-License-Identifier: Apache-2.0

import Beeline
import Foundation
import NIOConcurrencyHelpers

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// What a request and its session want of cookies, in the client's words.
struct LoadCookies: Sendable {
    /// The cookies of the program itself, as a Cookie field.
    let explicit: String?
    /// Whose cookies are sent and kept.
    let jar: CookieJar?
    let sends: Bool
    let keeps: Bool
    /// Which URLs' cookies are kept; nil: all.
    let keepsOf: (@Sendable (HTTPURL) -> Bool)?
    /// What carries them between the jar and the session's storage.
    let mirror: CookieStorageMirror?

    init(_ request: URLRequest, _ field: String?, _ configuration: URLSessionConfiguration, _ door: Door) {
        let storage = configuration.httpCookieStorage
        let handles = request.httpShouldHandleCookies && storage != nil
        sends = handles && configuration.httpShouldSetCookies
        // The session's and the storage's own: each may be the stricter one.
        let policies = [configuration.httpCookieAcceptPolicy, storage?.cookieAcceptPolicy]
        keeps = handles && !policies.contains(.never)
        let mirror = storage.map { door.mirror(of: $0) }
        jar = mirror?.jar
        // A jar that is the storage's own knows nothing but what it is told.
        let isNeeded = door.settings.mirrorsCookies || mirror?.configuration.truth == .storage
        self.mirror = handles && isNeeded ? mirror : nil
        if policies.contains(.onlyFromMainDocumentDomain),
            let page = request.mainDocumentURL.flatMap({ try? HTTPURL($0) })
        {
            keepsOf = { Site(of: $0) == Site(of: page) }
        } else {
            keepsOf = nil
        }
        explicit = Self.explicit(field, request.url, configuration, mirror)
    }

    /// What the program itself wrote into the Cookie field. On Linux the session has put there what its storage had for the
    /// host when the task was made, Secure and paths unseen; that is the jar's affair, which may have newer ones by now, or
    /// none, after a logout. Where the storage has some, nothing else is in the field.
    private static func explicit(
        _ field: String?,
        _ url: URL?,
        _ configuration: URLSessionConfiguration,
        _ mirror: CookieStorageMirror?
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
