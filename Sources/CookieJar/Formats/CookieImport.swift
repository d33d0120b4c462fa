// SPDX-License-Identifier: Apache-2.0

/// What a file of cookies held: the cookies, and the lines that are none.
public struct CookieImport: Hashable, Sendable {
    /// A part of the file that was passed over.
    public struct Problem: Hashable, Sendable, CustomStringConvertible {
        /// The line, from 1 on; in JSON, the place of the cookie in the array.
        public let line: Int
        /// What is wrong with it.
        public let reason: String

        /// `line 3: ` and what is wrong.
        public var description: String { "line \(line): \(reason)" }
    }

    /// The cookies, in the file's order.
    public internal(set) var cookies: [Cookie] = []
    /// The line of each cookie.
    public internal(set) var lines: [Int] = []
    /// What was passed over.
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
