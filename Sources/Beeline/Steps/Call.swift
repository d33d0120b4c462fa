// SPDX-License-Identifier: Apache-2.0

import DirectHTTP
import NIOConcurrencyHelpers

/// One call of the client: interceptors, then tries, then hedged requests, then hops. Their time limit counts from the start of
/// the call, also if an interceptor changes it.
struct Call: Sendable {
    /// The settings of a call that opens a WebSocket.
    struct Upgrade: Sendable {
        var subprotocols: [String]
        var settings: WebSocketSettings
    }

    let client: BeelineClient
    /// `nil` for any other call.
    let upgrade: Upgrade?
    private let begin: Duration
    private let counter = CallCounter()

    init(_ client: BeelineClient, upgrade: Upgrade? = nil) {
        self.client = client
        self.upgrade = upgrade
        begin = client.clock.now()
    }

    /// The limits of a request, which an interceptor may have changed.
    func limits(of request: ClientRequest) -> CallLimits {
        CallLimits(request.options.limits ?? client.configuration.limits, now: begin)
    }

    func run(_ request: ClientRequest) async throws(BeelineError) -> Response {
        try await intercepted(request, by: client.configuration.interceptors[...])
    }

    /// Counts a request and returns the total number of requests of this call.
    func countRequest() -> Int { counter.countRequest() }

    // MARK: Interceptors

    private func intercepted(
        _ request: ClientRequest,
        by interceptors: ArraySlice<any Interceptor>
    ) async throws(BeelineError) -> Response {
        guard let first = interceptors.first else {
            guard interceptors.startIndex == 0 || counter.countCall() <= InterceptorNext.maxCalls else {
                throw BeelineError(
                    .interceptorFailed,
                    "the interceptors asked for \(request.url) more than \(InterceptorNext.maxCalls) times"
                )
            }
            return try await retried(request)
        }
        return try await call(first, with: request, before: interceptors.dropFirst())
    }

    @inline(never)
    private func call(
        _ interceptor: any Interceptor,
        with request: ClientRequest,
        before others: ArraySlice<any Interceptor>
    ) async throws(BeelineError) -> Response {
        let next = InterceptorNext { (request) async throws(BeelineError) -> Response in
            try await intercepted(request, by: others)
        }
        do {
            return try await interceptor.intercept(request, next: next)
        } catch let error as BeelineError {
            throw error
        } catch is CancellationError {
            throw .cancelled(request)
        } catch {
            throw BeelineError(
                .interceptorFailed,
                "the interceptor \(type(of: interceptor)) failed for \(request.url): \(error)",
                underlyingError: error
            )
        }
    }

    // MARK: Tries

    private func retried(_ request: ClientRequest) async throws(BeelineError) -> Response {
        let policy = request.options.retry ?? client.configuration.retry
        var schedule = RetrySchedule(policy, method: request.method, isBodyReplayable: request.body.isReplayable)
        while true {
            let hedge = hedgePolicy(of: request)
            let result = if let hedge { await hedged(request, policy: hedge) } else { await once(request) }
            let verdict = schedule.next(
                after: outcome(of: result),
                timeLeft: limits(of: request).timeLeft(at: client.clock.now()),
                chance: .random(in: 0..<1)
            )
            switch verdict {
            case .end(let reason):
                return try Self.final(result, reason: reason, tries: schedule.tries)
            case .wait(let wait):
                client.telemetry?.willRetry(request, after: result, wait: wait, try: schedule.tries)
                if case .success(let response) = result { await response.body.discard() }
                try await client.pause(wait, before: request.url)
            }
        }
    }

    @inline(never)
    private func outcome(of result: Result<Response, BeelineError>) -> RetrySchedule.Outcome {
        switch result {
        case .success(let response):
            let wait = RetryAfter.wait(response.fields, now: client.clock.date().microseconds / 1_000_000)
            return .answered(status: response.status.code, retryAfter: wait)
        case .failure(let error):
            // An earlier hop may have reached a server although this hop was not sent.
            return .failed(error.code, afterOtherHops: !error.hops.isEmpty)
        }
    }

    @inline(never)
    private static func final(
        _ result: Result<Response, BeelineError>,
        reason: RetrySchedule.Reason,
        tries: Int
    ) throws(BeelineError) -> Response {
        switch result {
        case .success(var response):
            response.tries = tries
            return response
        case .failure(var error):
            error.tries = tries
            if reason == .bodyIsGone { error.message = DirectHTTPError.withBodyGone(error.message) }
            throw error
        }
    }

    // MARK: Hedged requests

    private enum HedgeStep: Sendable {
        case delayPassed
        case ended(Int, Result<Response, BeelineError>)
    }

    private func hedgePolicy(of request: ClientRequest) -> HedgePolicy? {
        let policy = request.options.hedge ?? client.configuration.hedge
        // A second WebSocket would not make the first one faster.
        guard let policy, upgrade == nil, policy.methods.contains(request.method), request.body.isReplayable else {
            return nil
        }
        return policy
    }

    @inline(never)
    private func hedged(_ request: ClientRequest, policy: HedgePolicy) async -> Result<Response, BeelineError> {
        let clock = client.clock
        return await withTaskGroup(of: HedgeStep.self) { group in
            let endpoints = HedgeSide.Endpoints()
            var plan = HedgePlan()
            var results: [Int: Result<Response, BeelineError>] = [:]
            group.addTask { .ended(0, await once(request, side: HedgeSide(recording: endpoints))) }
            group.addTask {
                try? await clock.sleep(policy.delay)
                return .delayPassed
            }
            while let step = await group.next() {
                let event: HedgePlan.Event
                switch step {
                // Cancellation also ends the sleep; do not send the second request then.
                case .delayPassed where Task.isCancelled:
                    continue
                case .delayPassed:
                    event = .delayPassed
                case .ended(let number, let result):
                    results[number] = result
                    if case .success = result { event = .answered(number) } else { event = .failed(number) }
                }
                switch plan.event(event) {
                case .wait: continue
                case .send(let number):
                    group.addTask { .ended(number, await once(request, side: HedgeSide(avoiding: endpoints))) }
                case .take(let number):
                    // Cancels the other request: an HTTP/2 stream is reset, an HTTP/1.1 connection is closed.
                    group.cancelAll()
                    if let result = results[number] { return result }
                }
            }
            return .failure(.cancelled(request))
        }
    }

    private func once(_ request: ClientRequest, side: HedgeSide? = nil) async -> Result<Response, BeelineError> {
        do throws(BeelineError) {
            return .success(try await follow(request, side: side))
        } catch {
            return .failure(error)
        }
    }
}

/// Counts how often the interceptors of one call use the network, and its requests, over all tries.
private final class CallCounter: Sendable {
    /// Both counts, guarded by a lock.
    private let counts = NIOLockedValueBox((calls: 0, requests: 0))

    func countCall() -> Int {
        counts.withLockedValue { counts in
            counts.calls += 1
            return counts.calls
        }
    }

    func countRequest() -> Int {
        counts.withLockedValue { counts in
            counts.requests += 1
            return counts.requests
        }
    }
}

extension BeelineError {
    static func cancelled(_ request: ClientRequest) -> BeelineError {
        BeelineError(.cancelled, "the request to \(request.url.origin) was cancelled")
    }
}
