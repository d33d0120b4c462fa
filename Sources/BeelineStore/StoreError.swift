// SPDX-License-Identifier: Apache-2.0

/// Why a store could not be opened, read or written. `message` is one line that names the file and the remedy.
public struct StoreError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What went wrong, to branch on.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The code's name, for logs and JSON.
        public let description: String
        /// The file or its directory is not there, or this user may not read or write it.
        public static let notAccessible = Code(description: "notAccessible")
        /// The file belongs to another program. It was not touched.
        public static let notOurs = Code(description: "notOurs")
        /// The file was written by a newer version of this library. It was not touched.
        public static let newerSchema = Code(description: "newerSchema")
        /// Another process has the file open in a way that this one cannot share.
        public static let inUse = Code(description: "inUse")
        /// Another process held the file's lock for longer than the configuration waits.
        public static let busy = Code(description: "busy")
        /// The file's contents are damaged.
        public static let damaged = Code(description: "damaged")
        /// The file was moved, deleted or replaced while it was open.
        public static let moved = Code(description: "moved")
        /// There is no room on the disk.
        public static let diskFull = Code(description: "diskFull")
        /// The disk could not be read or written.
        public static let inputOutput = Code(description: "inputOutput")
        /// The store was closed.
        public static let closed = Code(description: "closed")
        /// The file has no cookies of a browser that is known here.
        public static let unknownProfile = Code(description: "unknownProfile")
        /// Something else that SQLite reports.
        public static let failed = Code(description: "failed")
    }

    /// What went wrong.
    public var code: Code
    /// The file.
    public var path: String
    /// One line that names the file, what failed, and the remedy.
    public var message: String
    /// Whether a table or a column is not as it was made: it was lost, or is another program's.
    var isOfSchema = false

    /// Makes an error.
    public init(_ code: Code, path: String, _ message: String) {
        self.code = code
        self.path = path
        self.message = message
    }

    /// The text for logs.
    public var description: String { message }
}
