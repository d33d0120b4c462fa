// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import NIOConcurrencyHelpers

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Tells Foundation what comes in, where and when it can hear it: on the queue (or run loop) of the protocol object, not
/// while the task is suspended, and never again after it was stopped, for then Foundation traps.
///
/// `@unchecked Sendable`: `loader` and `isOver` are touched on `post`'s queue alone.
final class Delivery: @unchecked Sendable {
    /// Bytes that a delegate may have before it that it has not taken.
    private static let window = 256 * 1024

    private var loader: URLProtocol?
    private var isOver = false
    /// Asked whether it is suspended: the protocol object hears of that later.
    private weak var task: URLSessionTask?
    private let post: @Sendable (@escaping @Sendable () -> Void) -> Void
    /// Where delegates are called; nil where that is not known, and only Foundation holds a fast server back.
    private let delegateQueue: OperationQueue?
    private let pause = NIOLockedValueBox(Pause())

    private struct Pause {
        var isPaused = false
        var waiters: [@Sendable () -> Void] = []
        /// What is to be told, in order. Whoever comes to the queue first tells the first of it.
        var bodies: [@Sendable (Delivery, URLProtocol, any URLProtocolClient) -> Void] = []
    }

    init(
        _ loader: URLProtocol,
        delegateQueue: OperationQueue?,
        post: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void
    ) {
        self.loader = loader
        task = loader.task
        self.delegateQueue = delegateQueue
        self.post = post
    }

    // MARK: By the one who loads

    /// Hands the head over; its cookies are in the storage before it.
    func head(_ response: URLResponse, _ mirror: CookieStorageMirror?) async {
        await ready()
        tell { loader, client in
            mirror?.sync()
            client.urlProtocol(loader, didReceive: response, cacheStoragePolicy: .notAllowed)
        }
    }

    /// Hands a piece over, and waits until not too many are before the delegate.
    func piece(_ data: Data, unread: inout Int) async {
        await ready()
        tell { $1.urlProtocol($0, didLoad: data) }
        unread += data.count
        guard unread >= Self.window else { return }
        unread = 0
        await firstAnswer { (answer: @escaping @Sendable (Bool) -> Void) in
            post { [delegateQueue] in
                // Operations run in their order: when this one does, the pieces before it have been taken. Where the queue
                // is not known, Foundation at least has them.
                guard let delegateQueue else { return answer(true) }
                delegateQueue.addOperation { answer(true) }
            }
        }
    }

    /// Hands a whole response over at once, which costs Foundation's queue one turn.
    func whole(_ response: URLResponse, _ data: Data, _ mirror: CookieStorageMirror?) async {
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

    /// Tells that all has come, or why not.
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

    #if canImport(Darwin)
    /// Tells of a redirect, which Foundation follows by a task of its own.
    func redirect(to request: URLRequest, _ response: HTTPURLResponse, _ mirror: CookieStorageMirror?) async {
        await ready()
        tell { loader, client in
            mirror?.sync()
            client.urlProtocol(loader, wasRedirectedTo: request, redirectResponse: response)
            client.urlProtocol(loader, didFailWithError: URLError(.cancelled))
        } after: {
            $0.close()
        }
    }
    #endif

    /// Calls the client; nothing, once the task was stopped.
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

    /// Tells what waits, as long as the protocol object can hear.
    private func drain() {
        while !isOver, let loader, let client = loader.client {
            guard pause.withLockedValue({ !$0.bodies.isEmpty }) else { return }
            // It may have been suspended since it was asked.
            guard isReady else { return wait { [self] in post { [self] in drain() } } }
            let body = pause.withLockedValue { $0.bodies.isEmpty ? nil : $0.bodies.removeFirst() }
            body?(self, loader, client)
        }
    }

    /// Whether the protocol object can hear now. It is asked for outside of the lock: where it is suspended, ``suspend()`` and
    /// ``resume()`` follow.
    private var isReady: Bool { task?.state != .suspended && !pause.withLockedValue { $0.isPaused } }

    private func ready() async {
        if isReady { return }
        await firstAnswer { (answer: @escaping @Sendable (Bool) -> Void) in wait { answer(true) } }
    }

    /// Calls `body` when the protocol object can hear again.
    private func wait(_ body: @escaping @Sendable () -> Void) {
        pause.withLockedValue { $0.waiters.append(body) }
        // It may have been resumed before there was anybody to wake.
        if isReady { wake() }
    }

    private func wake() {
        let waiters = pause.withLockedValue { pause in
            defer { pause.waiters = [] }
            return pause.waiters
        }
        for waiter in waiters { waiter() }
    }

    // MARK: By the protocol object, on its queue

    /// Lets nothing through until ``resume()``.
    func suspend() { pause.withLockedValue { $0.isPaused = true } }

    /// Lets through what waits.
    func resume() {
        pause.withLockedValue { $0.isPaused = false }
        wake()
    }

    /// Lets nothing through ever again.
    func close() {
        isOver = true
        loader = nil
        pause.withLockedValue { $0.bodies = [] }
    }
}
