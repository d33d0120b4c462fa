// SPDX-License-Identifier: Apache-2.0

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

    package mutating func add(_ cookie: Cookie, line: Int) {
        cookies.append(cookie)
        lines.append(line)
    }

    package mutating func skip(line: Int, _ reason: String) {
        problems.append(Problem(line: line, reason: reason))
    }
}
