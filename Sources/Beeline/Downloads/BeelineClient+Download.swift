// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes

extension BeelineClient {
    /// Downloads a resource to a file.
    ///
    /// ```swift
    /// let download = try await client.download("https://example.com/disk.img", to: "/tmp/disk.img")
    /// ```
    ///
    /// The data is written to `path.partial`, which is renamed to `path` when it is complete. An interrupted download
    /// resumes with `Range` and `If-Range` if the server sends a strong validator. It resumes automatically (see
    /// ``DownloadOptions/resumes``), and also when a later call downloads the same URL to the same path:
    /// `path.partial.json` stores the validator. If the server does not support ranges or has a new version, it sends
    /// the whole file again. The file is not synced to disk: after a crash of the machine, `path` may still be the old
    /// file.
    ///
    /// The request asks for no content coding: the file has exactly the bytes of the server.
    ///
    /// - Parameters:
    ///   - url: The URL.
    ///   - path: The destination. An existing file is replaced. A path that is not a regular file, such as a device, is an
    ///     error.
    ///   - fields: Header fields of the request. The download replaces or removes `Range`, `If-Range` and
    ///     `Accept-Encoding`.
    ///   - options: The options of the download.
    /// - Throws: ``BeelineError``; `unexpectedStatus` for a status that carries no file, `fileFailed` if the file cannot be
    ///   written or another download writes it. The received bytes are kept.
    public func download(
        _ url: String,
        to path: String,
        fields: HTTPFields = [:],
        options: DownloadOptions = DownloadOptions()
    ) async throws(BeelineError) -> Download {
        try await DownloadRun(self, url: Self.parse(url), to: path, fields: fields, options: options).run()
    }
}
