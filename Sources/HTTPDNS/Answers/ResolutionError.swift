// SPDX-License-Identifier: Apache-2.0

import Names

/// The error of a name that could not be resolved. `description` is one line; `failures` has the error of each upstream.
public struct ResolutionError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of error, to branch on.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The code's name, for logs and JSON.
        public let description: String
        /// The name does not exist.
        public static let noSuchName = Code(description: "noSuchName")
        /// The name exists but has no address of the requested families.
        public static let noAddress = Code(description: "noAddress")
        /// No upstream gave a usable answer.
        public static let allUpstreamsFailed = Code(description: "allUpstreamsFailed")
        /// An upstream answered with an address that is never valid for a public name, and no other upstream had a
        /// usable answer.
        public static let bogusAnswer = Code(description: "bogusAnswer")
        /// The resolution exceeded its time limit.
        public static let timeLimit = Code(description: "timeLimit")
        /// The limit of concurrent lookups (``ResolverConfiguration/Limits/maxLookups``) is reached.
        public static let tooManyLookups = Code(description: "tooManyLookups")
        /// The task was cancelled.
        public static let cancelled = Code(description: "cancelled")
        /// The resolver was shut down.
        public static let shutDown = Code(description: "shutDown")
    }

    /// The failure of one upstream.
    public struct Failure: Hashable, Sendable, CustomStringConvertible {
        /// The upstream's name.
        public let upstream: String
        /// The upstream's error.
        public let error: UpstreamError

        /// A failure of an upstream.
        package init(upstream: String, error: UpstreamError) {
            self.upstream = upstream
            self.error = error
        }

        /// The text for logs.
        public var description: String { "\(upstream): \(error.message)" }
    }

    /// The kind of error.
    public var code: Code
    /// One line that names the host, the failure and a remedy.
    public var message: String
    /// The failures of the upstreams that were asked, in the order in which they occurred.
    public var failures: [Failure]
    /// How long the absence may be cached; nil for other errors, and if the upstream did not confirm it by an SOA.
    package let ttl: Duration?

    /// An error with a code, a message and the failures of upstreams.
    package init(_ code: Code, _ message: String, failures: [Failure] = [], ttl: Duration? = nil) {
        self.code = code
        self.message = message
        self.failures = failures
        self.ttl = ttl
    }

    /// The text for logs.
    public var description: String { message }

    /// Whether the errors have the same code, message and failures. The time that an absence may still be cached does not
    /// count, because it differs a moment later.
    public static func == (one: ResolutionError, other: ResolutionError) -> Bool {
        one.code == other.code && one.message == other.message && one.failures == other.failures
    }

    /// See ``==(_:_:)``.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(code)
        hasher.combine(message)
        hasher.combine(failures)
    }
}

extension ResolutionError {
    /// The error for a name that no upstream could answer.
    static func allFailed(_ host: Host, failures: [Failure]) -> ResolutionError {
        guard !failures.isEmpty else {
            return ResolutionError(
                .allUpstreamsFailed,
                "\(host): no upstream can be asked now; all have failed lately, or none is configured"
            )
        }
        let isBogus = failures.contains { $0.error.code == .bogusAnswer }
        let list = failures.map(\.description).joined(separator: "; ")
        return ResolutionError(
            isBogus ? .bogusAnswer : .allUpstreamsFailed,
            "\(host): no upstream gave a usable answer: \(list)",
            failures: failures
        )
    }

    /// The error for a lookup that exceeded its time limit.
    static func overdue(_ host: Host, limit: Duration, failures: [Failure]) -> ResolutionError {
        ResolutionError(.timeLimit, "\(host): no upstream answered within \(limit)", failures: failures)
    }

    /// The error for a name if its cached answer has no address of the families.
    static func absent(_ request: LookupRequest, entry: AnswerCache.Entry, now: Moment) -> ResolutionError {
        let (host, families) = (request.host, request.families)
        let failures = entry.provenance.failures
        let name = entry.provenance.upstream
        let upstream = name == "system" ? "the system's resolver" : name
        let isConfirmed = families.members.allSatisfy { entry[$0]?.isConfirmed ?? false }
        let ttl = isConfirmed ? max(.zero, entry.knownExpiry(of: families) - now) : nil
        if families.members.contains(where: { entry[$0]?.absence == .noName }) {
            return ResolutionError(
                .noSuchName,
                "\(host): the name does not exist, according to \(upstream); check the spelling",
                failures: failures,
                ttl: ttl
            )
        }
        return ResolutionError(
            .noAddress,
            "\(host): the name has \(families.absence), according to \(upstream)",
            failures: failures,
            ttl: ttl
        )
    }
}

extension Families {
    /// The absence of addresses in words.
    fileprivate var absence: String {
        self == .both ? "neither an IPv4 nor an IPv6 address" : "no \(self) address"
    }
}
