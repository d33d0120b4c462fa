// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationNetworking)
import Foundation
import FoundationNetworking
import NIOConcurrencyHelpers

/// Calls a task's delegate on the session's delegate queue, as Foundation on Linux does.
///
/// Foundation on Linux gives a protocol class no way to report a redirect (it traps) or upload progress, or to request a new
/// body stream.
///
/// `@unchecked Sendable`: the delegate is called only on the delegate queue.
struct DelegateOfTask: @unchecked Sendable {
    let delegate: any URLSessionTaskDelegate
    let session: URLSession
    let task: URLSessionTask

    /// Asks the delegate for a new body stream.
    func newBodyStream() async -> StreamReader? {
        await firstAnswer { answer in
            session.delegateQueue.addOperation {
                delegate.urlSession(session, task: task) { answer($0.map(StreamReader.init)) }
            }
        } ?? nil
    }

    /// Reports a redirect. Returns the next request, or `nil` to return the redirect as the response.
    ///
    /// - Parameter bringCookies: Copies the cookies of this hop to the storage before the delegate is called.
    func willRedirect(
        _ response: HTTPURLResponse,
        to request: URLRequest,
        after bringCookies: @escaping @Sendable () -> Void
    ) async -> URLRequest? {
        await firstAnswer { answer in
            session.delegateQueue.addOperation {
                bringCookies()
                delegate.urlSession(
                    session,
                    task: task,
                    willPerformHTTPRedirection: response,
                    newRequest: request,
                    completionHandler: answer
                )
            }
        } ?? nil
    }

    /// Reports upload progress.
    func sent(_ count: Int64, of total: Int64?, in all: Int64) {
        delegate.urlSession(
            session,
            task: task,
            didSendBodyData: count,
            totalBytesSent: all,
            totalBytesExpectedToSend: total ?? NSURLSessionTransferSizeUnknown
        )
    }
}

/// Holds the reader of a request's body stream. Only the first caller gets it.
final class SingleUseReader: Sendable {
    private let reader: NIOLockedValueBox<StreamReader?>

    init(_ reader: StreamReader?) { self.reader = NIOLockedValueBox(reader) }

    func take() -> StreamReader? { reader.withLockedValue { $0.take() } }
}
#endif
