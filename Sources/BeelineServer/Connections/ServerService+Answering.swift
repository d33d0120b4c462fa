// SPDX-License-Identifier: Apache-2.0

import DirectHTTP
import NIOCore

extension ServerService {
    /// Answers a request, counts and logs it.
    ///
    /// - Parameters:
    ///   - request: What is asked.
    ///   - isTooLarge: Whether its content was more than is read.
    ///   - loop: The connection's, on which this is called.
    ///   - done: Called once on the loop, before this returns or later; not at all where the task is cancelled.
    /// - Returns: What waits for an upstream; nil where nobody is waited for.
    func answer(
        _ request: ServerRequest,
        isTooLarge: Bool,
        on loop: any EventLoop,
        _ done: @escaping (ServerReply) -> Void
    ) -> Task<Void, Never>? {
        let start = NIODeadline.now()
        let handling =
            isTooLarge
            ? .reply(.text("a question has \(ServerRequest.maxBody) octets at the most", status: 413))
            : handle(request, now: start)
        let finish = { (reply: ServerReply) in
            done(reply)
            self.note(reply, client: request.client, time: .nanoseconds((NIODeadline.now() - start).nanoseconds))
        }
        switch handling {
        case .reply(let reply):
            finish(reply)
            return nil
        case .later(let lookUps, let wait):
            guard began(request.client, lookUps: lookUps, now: start) else {
                finish(.limited)
                return nil
            }
            let bound = NIOLoopBound(finish, eventLoop: loop)
            return Self.task(on: loop) {
                let reply = await wait()
                let isWanted = !Task.isCancelled
                loop.execute {
                    if isWanted { bound.value(reply) }
                    // Who stops the server closes the connection when nothing is under way.
                    self.ended(request.client, lookUps: lookUps)
                }
            }
        }
    }

    /// A task on the connection's own loop, where the system can do that: no other thread is needed then.
    private static func task(
        on loop: any EventLoop,
        _ body: @escaping @Sendable () async -> Void
    ) -> Task<Void, Never> {
        guard #available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *) else { return Task { await body() } }
        return Task(executorPreference: EventLoopTaskExecutor(loop)) { await body() }
    }
}
