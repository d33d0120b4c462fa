// SPDX-License-Identifier: Apache-2.0

import DirectHTTP
import NIOCore
import Tracing

extension ServerService {
    /// Answers, counts and logs a request.
    ///
    /// - Parameters:
    ///   - trace: The trace that the request belongs to; nil without a tracer.
    ///   - loop: The event loop of the connection. The caller runs on it.
    ///   - done: Called once on the loop, either before this function returns or later. Not called if the task is cancelled.
    /// - Returns: The task that waits for an upstream. Nil if the answer was immediate.
    func answer(
        _ request: ServerRequest,
        isTooLarge: Bool,
        trace: TraceFields? = nil,
        on loop: any EventLoop,
        _ done: @escaping (ServerReply) -> Void
    ) -> Task<Void, Never>? {
        let start = NIODeadline.now()
        var handling =
            isTooLarge
            ? .reply(.text("a question has at most \(ServerRequest.maxBody) octets", status: 413))
            : handle(request, now: start)
        if case .later(let lookups, _) = handling, !admitLookups(of: request.client, count: lookups, now: start) {
            handling = .reply(.limited)
        }
        let span = isTraced(request, handling) ? trace.flatMap { trace in tracing?.begin(request, trace) } : nil
        let finish = { (reply: ServerReply) in
            done(reply)
            if let span { self.tracing?.end(span, with: reply) }
            self.note(reply, client: request.client, time: .nanoseconds((NIODeadline.now() - start).nanoseconds))
        }
        switch handling {
        case .reply(let reply):
            finish(reply)
            return nil
        case .later(let lookups, let wait):
            let bound = NIOLoopBound(finish, eventLoop: loop)
            return Self.task(on: loop) {
                let reply = await wait()
                let isWanted = !Task.isCancelled
                loop.execute {
                    if isWanted { bound.value(reply) } else { span?.end() }
                    // Runs after the reply, because `stop` closes the connections when this count reaches zero.
                    self.finishLookups(of: request.client, count: lookups)
                }
            }
        }
    }

    /// Whether a request gets a span. Probes would hide the questions; a client above its limit could make any number.
    private func isTraced(_ request: ServerRequest, _ handling: RequestHandling) -> Bool {
        if case .reply(let reply) = handling, reply.isLimited { return false }
        return !Self.isMonitoring(request)
    }

    /// Starts a task on the connection's event loop if the system supports it. That avoids a thread switch.
    static func task(
        on loop: any EventLoop,
        _ body: @escaping @Sendable () async -> Void
    ) -> Task<Void, Never> {
        guard #available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *) else { return Task { await body() } }
        return Task(executorPreference: EventLoopTaskExecutor(loop)) { await body() }
    }
}
