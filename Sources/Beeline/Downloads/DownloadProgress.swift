// SPDX-License-Identifier: Apache-2.0

import HTTPTypes

/// The state of a download between its requests. Decides after each part what to do next. A pure state machine.
struct DownloadProgress {
    /// What follows a part.
    enum Step: Hashable, Sendable {
        case complete
        /// Request the rest.
        case more
        /// Wait, then request the rest. Counts as a resume, because the part had only `size` bytes.
        case pauseThenMore(size: Int64)
        /// The part has none of the requested bytes: the rest cannot be requested. The message has the reason.
        case mismatch(String)
    }

    /// The minimum size of a part. After a smaller part, the next request waits.
    static let smallestPart: Int64 = 64 * 1024

    /// The size of the partial file, which is the offset of the next request.
    private(set) var offset: Int64
    /// How many bytes of the file existed before this call.
    private(set) var resumedFrom: Int64
    /// The number of resumes so far.
    private(set) var resumes = 0
    /// Whether a response with data has arrived. Before it, an error ends the download.
    private(set) var hasBegun = false
    /// Whether the last part may have been the end, because its `Content-Range` had no size.
    private(set) var isOpen = false
    private var wasSmall = false

    /// - Parameter offset: The size of the partial file that an earlier call left; 0 if it cannot be resumed.
    init(offset: Int64) {
        self.offset = offset
        resumedFrom = offset
    }

    /// A response with data has arrived.
    ///
    /// - Parameter start: The offset of its first byte.
    mutating func begin(at start: Int64) {
        hasBegun = true
        offset = start
        resumedFrom = min(resumedFrom, start)
        isOpen = false
    }

    /// The body of the response is in the file.
    ///
    /// - Parameters:
    ///   - response: The head of the response.
    ///   - end: The new size of the file.
    mutating func received(_ response: HTTPResponse, upTo end: Int64) -> Step {
        let size = end - offset
        offset = end
        guard response.status == .partialContent, let range = response.headerFields[.contentRange] else {
            return .complete
        }
        let whole = ResumeDecision.size(range)
        isOpen = range.hasSuffix("/*")
        // A server may send less than the requested range (RFC 9110 §15.3.7).
        guard whole.map({ end < $0 }) ?? isOpen else { return .complete }
        guard ResumeDecision.start(range).map({ $0 < end }) ?? false else {
            return .mismatch("none of the bytes after \(end) of \(whole.map { "\($0)" } ?? "an unknown size")")
        }
        // A very small part counts as a resume, with a wait and a limit. A server could otherwise cause endless requests.
        // Without a known size, the first small part may be the last.
        let mayCount = wasSmall || !isOpen
        wasSmall = size < Self.smallestPart
        guard wasSmall, mayCount else { return .more }
        resumes += 1
        return .pauseThenMore(size: size)
    }

    /// A request failed, and the download resumes.
    ///
    /// - Parameter offset: The size of the partial file.
    mutating func resume(at offset: Int64) {
        resumes += 1
        self.offset = offset
    }
}
