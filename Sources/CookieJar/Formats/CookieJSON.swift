// SPDX-License-Identifier: Apache-2.0

import Names

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Cookies as a JSON array of objects, without loss.
///
/// Members: `name`, `value`, `domain`, `hostOnly`, `path`, `expires` (seconds since 1970, absent for a session cookie),
/// `created`, `lastAccessed`, `secure`, `httpOnly`, `sameSite` (`lax`, `strict`, `none`), `partition`. A name or value that is
/// not UTF-8 is an array of numbers, `nameOctets` or `valueOctets`.
///
/// Also reads exports of browsers, browser extensions and drivers: `expirationDate`, `expiry`, `session`, a leading dot of the
/// domain instead of `hostOnly`, `no_restriction`, `partitionKey`, ISO 8601 dates, the array in a member `cookies` (Playwright's
/// `storageState`, the DevTools protocol), the members of Cookie Quick Manager (`Host raw`), and an HTTP Archive (HAR), whose
/// entries count as lines.
package enum CookieJSON {
    /// Reads a file. Reports objects that are not cookies by their position, starting with 1, and reads the rest.
    package static func read(_ octets: [UInt8], now: CookieTime) -> CookieImport {
        var result = CookieImport()
        do {
            switch try JSONDecoder().decode(File.self, from: Data(octets)) {
            case .archive(let archive): return archive.cookies(now: now)
            case .cookies(let cookies):
                for (index, cookie) in cookies.enumerated() {
                    switch cookie.result {
                    case .success(let cookie): result.add(cookie.cookie, line: index + 1)
                    case .failure(let error): result.skip(line: index + 1, reason(of: error))
                    }
                }
            }
        } catch let error as CookieJSONProblem {
            result.skip(line: 1, error.reason)
        } catch {
            result.skip(line: 1, "not JSON: \(reason(of: error))")
        }
        return result
    }

    private static func reason(of error: any Error) -> String {
        switch error {
        case let problem as CookieJSONProblem: problem.reason
        case DecodingError.dataCorrupted(let context): context.debugDescription
        default: "not an object with the members of a cookie"
        }
    }

    private enum File: Decodable {
        case cookies([DecodingResult<JSONCookie>])
        case archive(HARCookies)

        init(from decoder: any Decoder) throws {
            let object = try? decoder.container(keyedBy: JSONKey.self)
            if let object, object.contains("log") {
                self = .archive(try object.decode(HARCookies.self, forKey: "log"))
                return
            }
            let array = try? decoder.singleValueContainer().decode([DecodingResult<JSONCookie>].self)
            guard let cookies = array ?? object?.value("cookies") else {
                throw CookieJSONProblem(reason: "there is no array of cookies")
            }
            self = .cookies(cookies)
        }
    }

    package static func write(_ cookies: some Sequence<Cookie>) -> [UInt8] {
        Array("[".utf8) + objects(cookies.map { JSONCookie($0) }) + Array("\n]\n".utf8)
    }

    /// Writes Playwright's `storageState`, without local storage. Omits cookies that are not UTF-8.
    package static func writeStorageState(_ cookies: some Sequence<Cookie>) -> [UInt8] {
        let states = cookies.filter { String(validUTF8: $0.nameOctets + $0.valueOctets) != nil }
        return Array("{\"cookies\": [".utf8) + objects(states.map { JSONCookie($0, isOfStorageState: true) })
            + Array("\n], \"origins\": []}\n".utf8)
    }

    /// Encodes one object per line.
    private static func objects(_ cookies: [JSONCookie]) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Encoding text, numbers and Booleans cannot fail, so no object is lost.
        let lines = cookies.compactMap { try? encoder.encode($0) }
        return Array(lines.map { Array("\n".utf8) + $0 }.joined(separator: [.comma]))
    }
}

/// The reason why an object is not a cookie.
struct CookieJSONProblem: Error {
    let reason: String
}

/// A value whose decoding may fail without failing its siblings.
struct DecodingResult<Value: Decodable>: Decodable {
    let result: Result<Value, any Error>

    init(from decoder: any Decoder) throws {
        result = Result { try Value(from: decoder) }
    }
}

/// The name of any member.
struct JSONKey: CodingKey, ExpressibleByStringLiteral {
    let stringValue: String
    var intValue: Int? { nil }

    init(stringLiteral text: String) { stringValue = text }
    init?(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
}

extension KeyedDecodingContainer<JSONKey> {
    /// The value of a member, if it exists and has this type.
    func value<Value: Decodable>(_ key: JSONKey, as type: Value.Type = Value.self) -> Value? {
        try? decodeIfPresent(type, forKey: key)
    }

    /// The first of these members that is a string.
    func text(_ keys: JSONKey...) -> String? { keys.lazy.compactMap { value($0) }.first }

    /// The first of these members that is a Boolean, or the name of one as a string.
    func flag(_ keys: JSONKey...) -> Bool? {
        keys.lazy.compactMap { value($0) ?? text($0).flatMap(Bool.init) }.first
    }

    func object(_ key: JSONKey) -> KeyedDecodingContainer<JSONKey>? {
        try? nestedContainer(keyedBy: JSONKey.self, forKey: key)
    }
}
