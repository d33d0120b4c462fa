// SPDX-License-Identifier: Apache-2.0

/// The reason why an upstream gave no usable answer. `description` is one line.
public struct UpstreamError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of error, to branch on.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The code's name, for logs and JSON.
        public let description: String
        /// How the resolver reacts.
        package let reaction: Reaction

        /// The connection failed or was lost.
        public static let unreachable = Code(description: "unreachable", reaction: .tryElsewhere)
        /// No answer within the time limit.
        public static let timeLimit = Code(description: "timeLimit", reaction: .tryElsewhere)
        /// The answer is incomplete, corrupt, or not in the format of the upstream's protocol.
        public static let malformedAnswer = Code(description: "malformedAnswer", reaction: .tryElsewhere)
        /// The answer is for another question: the name, type or ID differs.
        public static let wrongAnswer = Code(description: "wrongAnswer", reaction: .tryElsewhere)
        /// The upstream marked its answer as truncated (TC).
        public static let truncatedAnswer = Code(description: "truncatedAnswer", reaction: .tryElsewhere)
        /// The answer is larger than the limit.
        public static let answerTooLarge = Code(description: "answerTooLarge", reaction: .tryElsewhere)
        /// The upstream has an internal failure (HTTP 5xx).
        public static let serverFailure = Code(description: "serverFailure", reaction: .tryElsewhere)
        /// The upstream is overloaded, or was asked too often.
        public static let rateLimited = Code(description: "rateLimited", reaction: .tryElsewhere)
        /// The upstream's certificate is not valid for its name.
        public static let untrusted = Code(description: "untrusted", reaction: .tryElsewhere)
        /// The signature has expired, although the clock was set by the upstream's time.
        public static let signatureExpired = Code(description: "signatureExpired", reaction: .tryElsewhere)
        /// Too many questions are waiting for this upstream.
        public static let busy = Code(description: "busy", reaction: .tryElsewhere)
        /// The answer contains an address that no public name has, such as 127.0.0.1.
        public static let bogusAnswer = Code(description: "bogusAnswer", reaction: .doNotRepeat)
        /// The upstream works but could not resolve this name (SERVFAIL).
        public static let lookupFailed = Code(description: "lookupFailed", reaction: .doNotRepeat)
        /// The upstream refuses this question; asking again has the same result.
        public static let questionRefused = Code(description: "questionRefused", reaction: .doNotRepeat)
        /// This kind of upstream does not support the question.
        public static let unsupported = Code(description: "unsupported", reaction: .doNotRepeat)
        /// The task was cancelled.
        public static let cancelled = Code(description: "cancelled", reaction: .doNotRepeat)
        /// The account, key or plan is not accepted.
        public static let accountRefused = Code(description: "accountRefused", reaction: .leaveAlone)
        /// The upstream's configuration is invalid.
        public static let misconfigured = Code(description: "misconfigured", reaction: .leaveAlone)
    }

    /// The consequence of a failure for further questions.
    package enum Reaction: Hashable, Sendable {
        /// Ask another address of the upstream or another upstream. The failure counts against this one.
        case tryElsewhere
        /// Do not ask this upstream the same question again; it may answer others.
        case doNotRepeat
        /// Do not ask this upstream for ``ResolverConfiguration/Ranking/pauseAfterRefusal``.
        case leaveAlone
    }

    /// The kind of error.
    public var code: Code
    /// One line: the failure, and the address or value at fault.
    public var message: String

    /// The maximum length of a message, in octets. Messages quote servers and are kept with cached answers.
    static let maxMessage = 400

    /// An error with a code and a message, for implementations of ``Upstream``. A message of more than 400 octets is
    /// truncated.
    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message =
            message.utf8.count > Self.maxMessage
            ? String(decoding: message.utf8.prefix(Self.maxMessage), as: UTF8.self) + "…" : message
    }

    /// The text for logs.
    public var description: String { message }

    /// The error for a reply of a service that cannot be read.
    static let unknownForm = UpstreamError(.malformedAnswer, "the reply is not in the form of this service")
}
