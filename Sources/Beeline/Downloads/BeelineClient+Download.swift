// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes

extension BeelineClient {
    /// Downloads a resource to a file.
    ///
    /// ```swift
    /// let download = try await client.download("https://example.com/disk.img", to: "/tmp/disk.img")
    /// ```
    ///
    /// Until it is whole it grows in `path.partial`; then that is moved to `path` in one step. What breaks off goes on with
    /// `Range` and `If-Range` where the server names a strong validator, by itself (``DownloadOptions/resumes``) and when
    /// the same URL is downloaded to the same path later: `path.partial.json` remembers the validator. A server that does
    /// not know ranges, or has another version by then, sends the whole again. The file is moved, not synced: after a crash
    /// of the machine it may be the old one.
    ///
    /// No content coding is asked for: the file has the bytes that the server has.
    ///
    /// - Parameters:
    ///   - url: what is downloaded.
    ///   - path: where it goes; a file that stands there is replaced. What is no regular file, such as a device, is refused.
    ///   - fields: header fields of the request, but for those of ranges.
    ///   - options: what it does otherwise.
    /// - Throws: ``BeelineError``: `unexpectedStatus` for a status that brings no file, `fileFailed` where it cannot be
    ///   written or another download writes there. What came is kept then.
    public func download(
        _ url: String,
        to path: String,
        fields: HTTPFields = [:],
        options: DownloadOptions = DownloadOptions()
    ) async throws(BeelineError) -> Download {
        try await DownloadRun(self, Self.parse(url), to: path, fields, options).run()
    }
}
