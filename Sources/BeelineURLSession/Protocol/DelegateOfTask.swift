// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationNetworking)
import Foundation
import FoundationNetworking
import NIOConcurrencyHelpers

/// A task's delegate, called as Foundation on Linux itself would call it: on the session's delegate queue.
///
/// Foundation there has no way for a protocol class to tell of a redirect (it traps) or of an upload's progress, or to ask for
/// another body.
///
/// `@unchecked Sendable`: the delegate is called on the delegate queue alone, as by Foundation.
struct DelegateOfTask: @unchecked Sendable {
    let delegate: any URLSessionTaskDelegate
    let session: URLSession
    let task: URLSessionTask

    /// Asks for a stream with the body, from its beginning.
    func newBodyStream() async -> StreamReader? {
        await firstAnswer { answer in
            session.delegateQueue.addOperation {
                delegate.urlSession(session, task: task) { answer($0.map(StreamReader.init)) }
            }
        } ?? nil
    }

    /// Tells of a redirect, and asks what is to be requested next; nil: nothing, the redirect is the response.
    ///
    /// - Parameter bringCookies: has the storage hold the cookies of this hop, which the delegate may look at.
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

    /// Tells how much of the body has left.
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

/// The reader of a stream that was given with a request, for the one who comes first.
final class GivenReader: Sendable {
    private let reader: NIOLockedValueBox<StreamReader?>

    init(_ reader: StreamReader?) { self.reader = NIOLockedValueBox(reader) }

    func take() -> StreamReader? { reader.withLockedValue { $0.take() } }
}
#endif
