// SPDX-License-Identifier: Apache-2.0

import Beeline
import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// 1 March 2026, 12:00 UTC.
let noon = CookieTime(secondsSince1970: 1_772_366_400)

extension CookieTime {
    /// The time a number of seconds after `noon`.
    static func after(_ seconds: Double) -> CookieTime {
        CookieTime(secondsSince1970: noon.secondsSince1970 + seconds)
    }
}

struct NoStorage: Error {}

extension HTTPCookieStorage {
    /// A new storage in memory.
    static func own() throws -> HTTPCookieStorage {
        guard let storage = URLSessionConfiguration.ephemeral.httpCookieStorage else { throw NoStorage() }
        return storage
    }

    /// The cookies as `name=value`, sorted.
    var pairs: [String] { (cookies ?? []).map { "\($0.name)=\($0.value)" }.sorted() }

    func cookie(_ name: String) -> HTTPCookie? { cookies?.first { $0.name == name } }

    /// Sets the cookies of a response, read by Foundation.
    func set(_ field: String, from url: String) throws {
        let url = try URL(fromTest: url)
        let cookies = HTTPCookie.cookies(withResponseHeaderFields: ["Set-Cookie": field], for: url)
        setCookies(cookies, for: url, mainDocumentURL: nil)
    }
}

extension URL {
    struct Malformed: Error {}

    init(fromTest text: String) throws {
        guard let url = URL(string: text) else { throw Malformed() }
        self = url
    }
}

extension CookieJar {
    /// The cookies as `name=value`, sorted.
    var pairs: [String] { allCookies().map { "\($0.name)=\($0.value)" }.sorted() }

    func cookie(_ name: String) -> Cookie? { allCookies().first { $0.name == name } }

    func set(_ field: String, from url: String) throws {
        store(field, from: try HTTPURL(url))
    }
}
