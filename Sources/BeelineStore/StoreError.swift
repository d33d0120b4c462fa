// SPDX-License-Identifier: Apache-2.0

/// The error of opening, reading or writing a store. `message` is one line that names the file and the remedy.
public struct StoreError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of the error.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The code's name, for logs and JSON.
        public let description: String
        /// The file or its directory does not exist, or this user has no permission to read or write it.
        public static let notAccessible = Code(description: "notAccessible")
        /// The file belongs to another program. It was not changed.
        public static let notOurs = Code(description: "notOurs")
        /// The file was written by a newer version of this library. It was not changed.
        public static let newerSchema = Code(description: "newerSchema")
        /// Another process has the file open in a way that cannot be shared.
        public static let inUse = Code(description: "inUse")
        /// Another process held the file's lock for longer than the configured timeout.
        public static let busy = Code(description: "busy")
        /// The file's contents are damaged.
        public static let damaged = Code(description: "damaged")
        /// The file was moved, deleted or replaced while it was open.
        public static let moved = Code(description: "moved")
        /// The disk is full.
        public static let diskFull = Code(description: "diskFull")
        /// The disk reported a read or write error.
        public static let inputOutput = Code(description: "inputOutput")
        /// The store was closed.
        public static let closed = Code(description: "closed")
        /// The path contains no cookies of a supported browser.
        public static let unknownProfile = Code(description: "unknownProfile")
        /// The calling task was cancelled.
        public static let cancelled = Code(description: "cancelled")
        /// Another SQLite error.
        public static let failed = Code(description: "failed")
    }

    /// The kind of the error.
    public var code: Code
    /// The path of the file.
    public var path: String
    /// One line that names the file, what failed, and the remedy.
    public var message: String
    /// Whether a table or column is missing or different: it was lost, or belongs to another program.
    var isOfSchema = false

    /// Makes an error.
    package init(_ code: Code, path: String, _ message: String) {
        self.code = code
        self.path = path
        self.message = message
    }

    /// The text for logs.
    public var description: String { message }
}
