// SPDX-License-Identifier: Apache-2.0

/// Why a name has no endpoints. `description` is one line; `failures` says what each upstream answered.
public struct ResolutionError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What went wrong, to branch on.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The code's name, for logs and JSON.
        public let description: String
        /// There is no such name.
        public static let noSuchName = Code(description: "noSuchName")
        /// The name exists, and has no address of the families asked for.
        public static let noAddress = Code(description: "noAddress")
        /// No upstream gave an answer that can be used.
        public static let allUpstreamsFailed = Code(description: "allUpstreamsFailed")
        /// An upstream's answer named an address that no public name has, and no other upstream had a better one.
        public static let bogusAnswer = Code(description: "bogusAnswer")
        /// The time for the whole resolution ran out.
        public static let timeLimit = Code(description: "timeLimit")
        /// As many names are being asked for as the configuration allows.
        public static let tooManyFlights = Code(description: "tooManyFlights")
        /// The task was cancelled.
        public static let cancelled = Code(description: "cancelled")
        /// The resolver was shut down.
        public static let shutDown = Code(description: "shutDown")
    }

    /// What one upstream did instead of answering.
    public struct Failure: Hashable, Sendable, CustomStringConvertible {
        /// The upstream's name.
        public let upstream: String
        /// What went wrong.
        public let error: UpstreamError

        /// A failure of an upstream.
        public init(upstream: String, error: UpstreamError) {
            self.upstream = upstream
            self.error = error
        }

        /// The text for logs.
        public var description: String { "\(upstream): \(error.message)" }
    }

    /// What went wrong.
    public var code: Code
    /// One line that names the host, what failed, and what to try.
    public var message: String
    /// What each upstream that was asked did, in the order of their ends.
    public var failures: [Failure]

    /// Makes an error.
    public init(_ code: Code, _ message: String, failures: [Failure] = []) {
        self.code = code
        self.message = message
        self.failures = failures
    }

    /// The text for logs.
    public var description: String { message }
}
