// SPDX-License-Identifier: Apache-2.0

/// Why an upstream gave no answer that can be used. `description` is one line that names the upstream's fault.
public struct UpstreamError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What went wrong, to branch on.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The code's name, for logs and JSON.
        public let description: String
        /// What the resolver does about it.
        public let reaction: Reaction

        /// No connection, or it was lost.
        public static let unreachable = Code(description: "unreachable", reaction: .tryElsewhere)
        /// No answer within the time given.
        public static let timeLimit = Code(description: "timeLimit", reaction: .tryElsewhere)
        /// The answer is cut short, garbled, or not in the form that the upstream's protocol has.
        public static let malformedAnswer = Code(description: "malformedAnswer", reaction: .tryElsewhere)
        /// The answer is for another question: name, type or ID differ.
        public static let wrongAnswer = Code(description: "wrongAnswer", reaction: .tryElsewhere)
        /// The upstream says that its answer is not whole (TC).
        public static let truncatedAnswer = Code(description: "truncatedAnswer", reaction: .tryElsewhere)
        /// The answer is larger than the limit.
        public static let answerTooLarge = Code(description: "answerTooLarge", reaction: .tryElsewhere)
        /// The upstream itself is out of order (HTTP 5xx).
        public static let serverFailure = Code(description: "serverFailure", reaction: .tryElsewhere)
        /// The upstream is overloaded or we asked too often.
        public static let rateLimited = Code(description: "rateLimited", reaction: .tryElsewhere)
        /// The upstream's certificate is not one for its name.
        public static let untrusted = Code(description: "untrusted", reaction: .tryElsewhere)
        /// The signature's time is past, although the clock was set by the upstream's own.
        public static let signatureExpired = Code(description: "signatureExpired", reaction: .tryElsewhere)
        /// Too many questions wait for this upstream already.
        public static let busy = Code(description: "busy", reaction: .tryElsewhere)
        /// The answer names an address that no public name has, such as 127.0.0.1.
        public static let bogusAnswer = Code(description: "bogusAnswer", reaction: .doNotRepeat)
        /// The upstream works, and could not find out about this name (SERVFAIL).
        public static let lookupFailed = Code(description: "lookupFailed", reaction: .doNotRepeat)
        /// The upstream does not take this question; asking again gives the same.
        public static let questionRefused = Code(description: "questionRefused", reaction: .doNotRepeat)
        /// This kind of upstream cannot answer the question at all.
        public static let unsupported = Code(description: "unsupported", reaction: .doNotRepeat)
        /// The task was cancelled.
        public static let cancelled = Code(description: "cancelled", reaction: .doNotRepeat)
        /// The account, key or plan is not accepted.
        public static let accountRefused = Code(description: "accountRefused", reaction: .leaveAlone)
        /// The upstream cannot work as it is configured.
        public static let misconfigured = Code(description: "misconfigured", reaction: .leaveAlone)
    }

    /// What a failure means for the questions to come.
    public enum Reaction: Hashable, Sendable {
        /// Another address of the upstream, or another upstream, may well answer; this one did badly.
        case tryElsewhere
        /// Asking the same upstream this again is useless, but it may answer other questions.
        case doNotRepeat
        /// The upstream will not answer us for a while: it is left alone for
        /// ``ResolverConfiguration/pauseAfterRefusal``.
        case leaveAlone
    }

    /// What went wrong.
    public var code: Code
    /// One line: what happened, and the address or value at fault.
    public var message: String

    /// Octets of a message; the rest is left out. Messages are kept with answers and quote what servers say.
    static let maxMessage = 400

    /// Makes an error; for those who write upstreams. A message of more than 400 octets is cut.
    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message =
            message.utf8.count > Self.maxMessage
            ? String(decoding: message.utf8.prefix(Self.maxMessage), as: UTF8.self) + "…" : message
    }

    /// The text for logs.
    public var description: String { message }
}
