// SPDX-License-Identifier: Apache-2.0

import CookieJar
import DirectHTTP
import HTTPTypes
import NIOCore
import NIOPosix
import Names

/// Performs one download, from the first request to the rename of the complete file.
struct DownloadRun {
    /// Bytes per write. Large enough to amortise the switch to the thread pool.
    private static let writeSize = 256 * 1024

    private let client: BeelineClient
    private let url: HTTPURL
    private let path: String
    private let fields: HTTPFields
    private let options: DownloadOptions
    private let limits: CallLimits

    private var partialPath: String { path + ".partial" }
    private var notePath: String { partialPath + ".json" }

    init(
        _ client: BeelineClient,
        url: HTTPURL,
        to path: String,
        fields: HTTPFields,
        options: DownloadOptions
    ) {
        self.client = client
        self.url = url
        self.path = path
        self.fields = fields
        self.options = options
        limits = CallLimits(options.request.limits ?? client.configuration.limits, now: client.clock.now())
    }

    func run() async throws(BeelineError) -> Download {
        let (path, partialPath, notePath) = (path, partialPath, notePath)
        let file = try await onDisk { () throws(BeelineError) in
            // Opening a FIFO would block, and the rename would replace a device.
            for path in [path, partialPath, notePath] { try PartialFile.checkIsRegular(path) }
            return try PartialFile(partialPath)
        }
        do {
            return try await run(file)
        } catch {
            // Keeps a partial file, but removes an empty one.
            try? await onDisk { () throws(BeelineError) in file.abandon(note: notePath) }
            throw error
        }
    }

    private func run(_ file: PartialFile) async throws(BeelineError) -> Download {
        let (notePath, url) = (notePath, url)
        var note = try await onDisk { () throws(BeelineError) in DownloadNote.read(from: notePath) }
        if note?.url != "\(url)" { note = nil }
        let kept = note == nil ? 0 : try await onDisk { () throws(BeelineError) in try file.size() }
        var progress = DownloadProgress(offset: kept)
        while true {
            do throws(BeelineError) {
                let (response, start) = try await ask(from: progress.offset, note: note, isOpen: progress.isOpen)
                if response.status == .rangeNotSatisfiable {
                    return try await finish(file, with: response, after: progress)
                }
                note = try await begin(file, with: response, at: start)
                progress.begin(at: start)
                let end = try await write(response, to: file, from: start)
                switch progress.received(response.head, upTo: end) {
                case .complete:
                    return try await finish(file, with: response, after: progress)
                case .more:
                    break
                case .pauseThenMore(let size):
                    let problem = "\(response.url) sends the rest in parts of \(size) bytes"
                    let error = BeelineError(.rangeMismatch, problem, hops: response.hops)
                    try await pause(before: progress.resumes, after: error)
                case .mismatch(let problem):
                    throw BeelineError(.rangeMismatch, "\(response.url) sends \(problem)", hops: response.hops)
                }
            } catch {
                // Resumes only with a validator. The request for the rest may fail as well, because the network may be down for
                // longer than the first wait.
                guard progress.hasBegun, note != nil, let least = leastWait(after: error) else { throw error }
                let size = try await onDisk { () throws(BeelineError) in try file.size() }
                progress.resume(at: size)
                try await pause(before: progress.resumes, after: error, atLeast: least)
            }
        }
    }

    /// Moves the complete file into place.
    private func finish(
        _ file: PartialFile,
        with response: Response,
        after progress: DownloadProgress
    ) async throws(BeelineError) -> Download {
        let (path, notePath) = (path, notePath)
        try await onDisk { () throws(BeelineError) in
            try file.move(to: path)
            removeFile(notePath)
        }
        return Download(
            path: path,
            size: progress.offset,
            resumedFrom: min(progress.resumedFrom, progress.offset),
            resumes: progress.resumes,
            head: response.head,
            hops: response.hops
        )
    }

    /// Waits before the next resume, or throws `error` if no resume is left or there is not enough time.
    private func pause(
        before resume: Int,
        after error: BeelineError,
        atLeast least: Duration = .zero
    ) async throws(BeelineError) {
        guard resume <= options.resumes else { throw error }
        let wait = max(least, options.backoff.wait(after: resume, chance: .random(in: 0..<1)))
        if let left = limits.timeLeft(at: client.clock.now()), wait >= left { throw error }
        try await client.pause(wait, before: url)
    }

    /// The shortest wait before a resume after this error; nil if a later request cannot succeed, or if the server asks for
    /// a longer wait than the retry policy allows.
    private func leastWait(after error: BeelineError) -> Duration? {
        if RetryPolicy.standard.errors.contains(error.code) { return .zero }
        guard error.code == .unexpectedStatus, let response = error.hops.last?.response,
            RetryPolicy.standard.statuses.contains(response.status.code)
        else { return nil }
        let now = client.clock.date().microseconds / 1_000_000
        let wait = RetryAfter.wait(response.headerFields, now: now) ?? .zero
        let policy = options.request.retry ?? client.configuration.retry
        return wait <= policy.maxRetryAfter ? wait : nil
    }

    /// Requests the rest, or the whole resource if the rest is not available. Returns the response and the offset of its first
    /// byte.
    ///
    /// - Parameter isOpen: whether the part before may be the last; a refusal of the range then means that it is.
    private func ask(
        from offset: Int64,
        note: DownloadNote?,
        isOpen: Bool = false
    ) async throws(BeelineError) -> (Response, Int64) {
        let start = note == nil ? 0 : offset
        let response = try await send(from: start, note: note)
        guard start > 0 else {
            guard ResumeDecision.isWholeResource(response.status.code) else { throw await unexpected(response) }
            return (response, 0)
        }
        let range = response.fields[.contentRange]
        // A server may ignore `If-Range` and refuse the range of another version, too.
        let isSameVersion = note?.allowsPart(response.fields) ?? false
        switch ResumeDecision(status: response.status.code, contentRange: range, offset: start) {
        case .append where isSameVersion && range.map(ResumeDecision.isValid) ?? false:
            return (response, start)
        // A 416 without a size may have another cause than a complete file.
        case .complete where isSameVersion && (range != nil || isOpen):
            await response.body.discard()
            return (response, start)
        case .restart where ResumeDecision.isWholeResource(response.status.code):
            return (response, 0)
        case .restart, .refused:
            throw await unexpected(response, after: start)
        case .append, .complete, .mismatch:
            // The partial file is outdated, or the server handles ranges wrongly: request the whole resource.
            await response.body.discard()
            return try await ask(from: 0, note: nil)
        }
    }

    private func send(from offset: Int64, note: DownloadNote?) async throws(BeelineError) -> Response {
        var head = HTTPRequest(method: .get, scheme: nil, authority: nil, path: nil, headerFields: fields)
        head.headerFields[.acceptEncoding] = "identity"
        let resumed = offset > 0 ? note : nil
        head.headerFields[.range] = resumed == nil ? nil : "bytes=\(offset)-"
        head.headerFields[.ifRange] = resumed?.validator
        var request = options.request
        request.limits = limits.left(at: client.clock.now())
        return try await client.send(head, to: url, options: request)
    }

    /// - Parameter offset: The number of bytes that the partial file has, if they are kept.
    private func unexpected(_ response: Response, after offset: Int64 = 0) async -> BeelineError {
        await response.body.discard()
        let outcome = offset > 0 ? "\(offset) bytes are kept in \(partialPath)" : "nothing was downloaded"
        return BeelineError(
            .unexpectedStatus,
            "\(response.url) answered \(response.status.code): \(outcome)",
            hops: response.hops
        )
    }

    /// Prepares the file and the note for the response. Returns the note for a later resume, if there is one.
    private func begin(
        _ file: PartialFile,
        with response: Response,
        at offset: Int64
    ) async throws(BeelineError) -> DownloadNote? {
        let note = DownloadNote(url: "\(url)", fields: response.fields)
        let notePath = notePath
        return try await onDisk { () throws(BeelineError) in
            // A part without a note is useless, and a note without its part is wrong.
            if offset == 0 { removeFile(notePath) }
            try file.truncate(to: offset)
            guard let note, (try? note.write(to: notePath)) != nil else {
                return offset > 0 ? DownloadNote.read(from: notePath) : nil
            }
            return note
        }
    }

    /// Writes the body to the file. Returns the new size of the file.
    private func write(
        _ response: Response,
        to file: PartialFile,
        from offset: Int64
    ) async throws(BeelineError) -> Int64 {
        let isPart = response.status == .partialContent
        let range = isPart ? response.fields[.contentRange] : nil
        // The `Content-Length` of a part is that of the part. A server may send the rest in several parts.
        let total = isPart ? range.flatMap(ResumeDecision.size) : response.fields[.contentLength].flatMap { Int64($0) }
        // The range ends where `Content-Range` says, even if the body continues.
        let limit = range.flatMap(ResumeDecision.length) ?? .max
        var size = offset
        var pieces: [ByteBuffer] = []
        var waiting = 0
        var failure: DirectHTTPError?
        var body = response.body.makeAsyncIterator()
        while true {
            var piece: ByteBuffer?
            do { piece = try await body.next() } catch { failure = error }
            if let piece {
                guard Int64(waiting + piece.readableBytes) <= limit - (size - offset) else {
                    throw BeelineError(
                        .rangeMismatch,
                        "\(response.url) sends more than the \(limit) bytes of its range",
                        hops: response.hops
                    )
                }
                pieces.append(piece)
                waiting += piece.readableBytes
                if waiting < Self.writeSize { continue }
            }
            if waiting > 0 {
                let ready = pieces
                try await onDisk { () throws(BeelineError) in try file.write(ready) }
                size += Int64(waiting)
                pieces.removeAll(keepingCapacity: true)
                waiting = 0
                options.progress?(TransferProgress(transferred: size, total: total))
            }
            if let failure {
                var error = BeelineError(failure, hops: response.hops)
                error.message = "\(response.url): \(failure.message); \(size) bytes are kept in \(partialPath)"
                throw error
            }
            if piece == nil { return size }
        }
    }

    /// Runs blocking file access on NIO's thread pool. It also runs if the task was cancelled, so that received bytes are kept
    /// and an empty file is removed; `runIfActive` would skip it.
    private func onDisk<Value: Sendable>(
        _ body: @escaping @Sendable () throws(BeelineError) -> Value
    ) async throws(BeelineError) -> Value {
        let result = await withUnsafeContinuation { (waiter: UnsafeContinuation<Result<Value, BeelineError>, Never>) in
            NIOThreadPool.singleton.submit { _ in
                waiter.resume(returning: Result { () throws(BeelineError) in try body() })
            }
        }
        return try result.get()
    }
}
