// SPDX-License-Identifier: Apache-2.0

public import DirectHTTP
public import HTTPTypes

/// A completed download.
public struct Download: Sendable {
    /// The path of the file.
    public let path: String
    /// The size of the file in bytes.
    public let size: Int64
    /// How many of these bytes existed before this call.
    public let resumedFrom: Int64
    /// The number of times that this call resumed the download after an interruption.
    public let resumes: Int
    /// The head of the last response.
    public let head: HTTPResponse
    /// The hops of the last response.
    public let hops: [Hop]
}

/// The options of a download.
public struct DownloadOptions: Sendable {
    /// The options of its requests. The limit `total` applies to the whole download.
    public var request = RequestOptions()
    /// How often an interrupted download resumes automatically. It resumes only if the server sends a strong validator (RFC
    /// 9110 §8.8.1). A temporary refusal of the rest, such as 503, counts as an interruption; the wait is at least its
    /// `Retry-After`. Default 5.
    public var resumes = 5
    /// The waits before each resume.
    public var backoff = Backoff()
    /// Called with the progress after each write. It must not block. Default `nil`.
    public var progress: (@Sendable (TransferProgress) -> Void)?

    /// Creates options with default values.
    public init() {}
}
