// SPDX-License-Identifier: Apache-2.0

import Beeline
import Foundation
import NIOCore

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

extension RequestBody {
    /// Finds the body of a task.
    ///
    /// - Parameter length: The request's `Content-Length`, for a stream.
    /// - Throws: `URLError` if an expected body cannot be found: a request is never sent without its body.
    static func find(
        in task: URLSessionTask?,
        _ insides: TaskInsides?,
        _ request: URLRequest,
        length: Int64?
    ) throws(URLError) -> RequestBody {
        #if canImport(FoundationNetworking)
        // Foundation on Linux does not expose an upload task's body, and the request may have a different one.
        if let task = task as? URLSessionUploadTask {
            switch insides?.body {
            case .data(let data): return .bytes(data)
            case .file(let file): return try self.file(file, for: request.url)
            case .stream(let stream): return .once(stream, length)
            case Optional.some(.none): return .none
            case nil:
                guard let session = insides?.session, let delegate = task.delegate else { break }
                return .asking(task, of: session, delegate: delegate, first: nil, length: length)
            case .unknown: break
            }
            throw URLError.missingBody(request)
        }
        if let stream = request.httpBodyStream {
            guard let task, let session = insides?.session, let delegate = task.delegate else {
                return .once(stream, length)
            }
            return .asking(task, of: session, delegate: delegate, first: stream, length: length)
        }
        #else
        if let stream = request.httpBodyStream { return .once(stream, length) }
        if request.httpBody == nil, task is URLSessionUploadTask { throw URLError.missingBody(request) }
        #endif
        guard let data = request.httpBody, !data.isEmpty else { return .none }
        return .bytes(data)
    }

    private static func file(_ file: URL, for url: URL?) throws(URLError) -> RequestBody {
        guard FileManager.default.isReadableFile(atPath: file.path) else {
            throw URLError(.fileDoesNotExist, "\(file.path) cannot be read", for: url)
        }
        return .file(file.path)
    }

    /// Creates a body from a stream. It cannot be sent again.
    static func once(_ stream: InputStream, _ length: Int64?) -> RequestBody {
        let reader = StreamReader(stream)
        return .once(length: length, StreamBody { reader })
    }

    #if canImport(FoundationNetworking)
    /// Creates a body from a stream. If there is none, and to send the body again, it asks the task's delegate for a new one.
    private static func asking(
        _ task: URLSessionTask,
        of session: URLSession,
        delegate: any URLSessionTaskDelegate,
        first stream: InputStream?,
        length: Int64?
    ) -> RequestBody {
        let first = SingleUseReader(stream.map(StreamReader.init))
        let delegate = DelegateOfTask(delegate: delegate, session: session, task: task)
        return .stream(length: length) {
            StreamBody {
                if let reader = first.take() { return reader }
                guard let reader = await delegate.newBodyStream() else { throw URLError(.requestBodyStreamExhausted) }
                return reader
            }
        }
    }
    #endif
}
