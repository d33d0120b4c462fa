// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import NIOConcurrencyHelpers

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Delivers a response to Foundation on the queue (or run loop) of the protocol object. It delivers nothing after the task was
/// stopped. On Linux it delivers nothing while the task is suspended, because Foundation would trap; on Apple platforms
/// Foundation holds back the calls itself.
///
/// `@unchecked Sendable`: `loader` and `isOver` are used only on the queue of `post`.
final class Delivery: @unchecked Sendable {
    /// The maximum number of bytes that a delegate has not received yet.
    private static let window = 256 * 1024

    private var loader: URLProtocol?
    private var isOver = false
    #if canImport(FoundationNetworking)
    /// The task, whose state is read directly: it becomes suspended before the protocol object is told.
    private weak var task: URLSessionTask?
    #endif
    private let post: @Sendable (@escaping @Sendable () -> Void) -> Void
    /// The queue of delegate calls; `nil` if it is not known. There is then no backpressure from a slow delegate.
    private let delegateQueue: OperationQueue?
    private let pause = NIOLockedValueBox(Pause())

    private struct Pause {
        var isPaused = false
        var waiters: [@Sendable () -> Void] = []
        /// The queued calls, in order.
        var bodies: [@Sendable (Delivery, URLProtocol, any URLProtocolClient) -> Void] = []
    }

    init(
        _ loader: URLProtocol,
        delegateQueue: OperationQueue?,
        post: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void
    ) {
        self.loader = loader
        #if canImport(FoundationNetworking)
        task = loader.task
        #endif
        self.delegateQueue = delegateQueue
        self.post = post
    }

    // MARK: Calls of the load

    /// Delivers the head. The cookies of the response are copied to the storage first.
    func head(_ response: URLResponse, _ mirror: CookieStorageMirror?) async {
        await ready()
        tell { loader, client in
            mirror?.sync()
            client.urlProtocol(loader, didReceive: response, cacheStoragePolicy: .notAllowed)
        }
    }

    /// Delivers a piece of the body. Suspends while the delegate has too many unread bytes.
    func piece(_ data: Data, unread: inout Int) async {
        await ready()
        tell { $1.urlProtocol($0, didLoad: data) }
        unread += data.count
        guard unread >= Self.window else { return }
        unread = 0
        await firstAnswer { (answer: @escaping @Sendable (Bool) -> Void) in
            post { [delegateQueue] in
                // Operations run in order: when this one runs, the delegate has received the pieces before it. Without the
                // queue, Foundation has at least accepted them.
                guard let delegateQueue else { return answer(true) }
                delegateQueue.addOperation { answer(true) }
            }
        }
    }

    /// Delivers a whole response in one turn of Foundation's queue.
    func deliverWhole(_ response: URLResponse, data: Data, mirror: CookieStorageMirror?) async {
        await ready()
        tell { loader, client in
            mirror?.sync()
            client.urlProtocol(loader, didReceive: response, cacheStoragePolicy: .notAllowed)
            if !data.isEmpty { client.urlProtocol(loader, didLoad: data) }
            client.urlProtocolDidFinishLoading(loader)
        } after: {
            $0.close()
        }
    }

    /// Reports the end of the response, or its error.
    func end(_ error: (any Error)?) async {
        await ready()
        tell { loader, client in
            if let error {
                client.urlProtocol(loader, didFailWithError: error)
            } else {
                client.urlProtocolDidFinishLoading(loader)
            }
        } after: {
            $0.close()
        }
    }

    /// Reports a redirect, on Apple platforms only: Foundation on Linux would trap. Foundation stops this load if it follows the
    /// redirect. If the delegate refuses it, the task waits for the head and the body of the redirect.
    func redirect(to request: URLRequest, _ response: HTTPURLResponse, _ mirror: CookieStorageMirror?) async {
        await ready()
        tell { loader, client in
            mirror?.sync()
            client.urlProtocol(loader, wasRedirectedTo: request, redirectResponse: response)
        }
    }

    /// Queues a call of the client. The call is dropped once the task was stopped.
    private func tell(
        _ body: @escaping @Sendable (URLProtocol, any URLProtocolClient) -> Void,
        after: @escaping @Sendable (Delivery) -> Void = { _ in }
    ) {
        pause.withLockedValue {
            $0.bodies.append { delivery, loader, client in
                body(loader, client)
                after(delivery)
            }
        }
        post { [self] in drain() }
    }

    /// Makes the queued calls while delivery is possible.
    private func drain() {
        while !isOver, let loader, let client = loader.client {
            guard pause.withLockedValue({ !$0.bodies.isEmpty }) else { return }
            // The task may have been suspended since the call was queued.
            guard isReady else { return wait { [self] in post { [self] in drain() } } }
            let body = pause.withLockedValue { $0.bodies.isEmpty ? nil : $0.bodies.removeFirst() }
            body?(self, loader, client)
        }
    }

    /// Whether delivery is possible. The state of the task is read without the lock. If it is suspended, Foundation on Linux calls
    /// ``suspend()`` and ``resume()``.
    private var isReady: Bool {
        #if canImport(FoundationNetworking)
        if task?.state == .suspended { return false }
        #endif
        return !pause.withLockedValue { $0.isPaused }
    }

    private func ready() async {
        if isReady { return }
        await firstAnswer { (answer: @escaping @Sendable (Bool) -> Void) in wait { answer(true) } }
    }

    /// Calls `body` when delivery is possible again.
    private func wait(_ body: @escaping @Sendable () -> Void) {
        pause.withLockedValue { $0.waiters.append(body) }
        // The task may have been resumed before the waiter was registered; check again.
        if isReady { wake() }
    }

    private func wake() {
        let waiters = pause.withLockedValue { pause in
            defer { pause.waiters = [] }
            return pause.waiters
        }
        for waiter in waiters { waiter() }
    }

    // MARK: Calls of the protocol object, on its queue

    /// Stops delivery until ``resume()``.
    func suspend() { pause.withLockedValue { $0.isPaused = true } }

    /// Continues delivery.
    func resume() {
        pause.withLockedValue { $0.isPaused = false }
        wake()
    }

    /// Stops delivery for good.
    func close() {
        isOver = true
        loader = nil
        pause.withLockedValue { $0.bodies = [] }
        // A waiter holds this object. The task may stay suspended for good.
        wake()
    }
}
