// SPDX-License-Identifier: Apache-2.0

public import DirectHTTP
public import HTTPTypes

/// A download that came to its end.
public struct Download: Sendable {
    /// The file.
    public let path: String
    /// Its size.
    public let size: Int64
    /// Bytes of it that were there before this call.
    public let resumedFrom: Int64
    /// How often it went on after it had broken off, within this call.
    public let resumes: Int
    /// Status and fields of the last response.
    public let head: HTTPResponse
    /// The hops of the last response.
    public let hops: [Hop]
}

/// What a download does otherwise than by default.
public struct DownloadOptions: Sendable {
    /// What its requests do otherwise than configured. The limit of the whole holds for the whole download.
    public var request = RequestOptions()
    /// How often a download that breaks off goes on by itself. It does where the server names a strong validator
    /// (RFC 9110 §8.8.1), and not otherwise. Default 5.
    public var resumes = 5
    /// The waits before it goes on.
    public var backoff = Backoff()
    /// Hears how far it has come, after each write; it must not wait. Default nil.
    public var progress: (@Sendable (TransferProgress) -> Void)?

    /// The defaults.
    public init() {}
}
