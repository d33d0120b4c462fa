// SPDX-License-Identifier: Apache-2.0

import Names

/// The result of reading a cookie file: the cookies, and the parts that are not cookies.
public struct CookieImport: Hashable, Sendable {
    /// A part of the file that was skipped.
    public struct Problem: Hashable, Sendable, CustomStringConvertible {
        /// The number of the line, starting with 1. In JSON, the position of the cookie in the array.
        public let line: Int
        /// The reason for skipping it.
        public let reason: String

        /// `line 3: ` and the reason.
        public var description: String { "line \(line): \(reason)" }
    }

    /// The cookies, in the order of the file.
    public internal(set) var cookies: [Cookie] = []
    package internal(set) var lines: [Int] = []
    /// The skipped parts.
    public internal(set) var problems: [Problem] = []

    package init() {}

    /// Adds a cookie in the form of a jar. Files of other programs and those written by hand have hosts in capitals or in other
    /// scripts, spaces around names and values, and no path where they mean `/`.
    package mutating func add(_ cookie: Cookie, line: Int) {
        var cookie = cookie
        cookie.domain = (try? Host(cookie.domain))?.urlForm ?? cookie.domain
        cookie.nameOctets = Array(cookie.nameOctets[cookie.nameOctets.trimmed(cookie.nameOctets.indices)])
        cookie.valueOctets = Array(cookie.valueOctets[cookie.valueOctets.trimmed(cookie.valueOctets.indices)])
        if cookie.path.isEmpty { cookie.path = "/" }
        cookies.append(cookie)
        lines.append(line)
    }

    package mutating func skip(line: Int, _ reason: String) {
        problems.append(Problem(line: line, reason: reason))
    }
}
