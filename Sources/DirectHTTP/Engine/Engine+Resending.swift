// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import NIOCore
import Names

// Decides whether the engine sends a request again: the rules of HTTP, which need no policy of the caller.
extension Engine {
    /// The state of a request across its attempts.
    struct Course {
        /// The request. A proxy's challenge may change its cookies.
        var request: PreparedRequest
        var key: PoolKey
        /// Whether the next attempt needs a new connection.
        var fresh = false
        var refusals = 0
        /// How many refusals came from a connection on which the server processed other requests. They are not in `refusals`.
        var passes = 0
        /// Whether a 408 was taken for the end of a connection's idle time.
        var hadIdleTimeout = false
        /// The credentials sent to the proxy.
        var answer: AuthMemory.Answer?
        /// How many challenges of the proxy were answered.
        var challenges = 0

        init(_ request: PreparedRequest, route: Route, tls: TLSSettings) {
            self.request = request
            // A connection to a forwarding proxy carries the requests of all origins.
            let proxy = route.forwarder(for: request.origin)?.origin
            let origin = proxy.map { Origin(scheme: .http, host: $0.host, port: $0.port) } ?? request.origin
            key = PoolKey(origin: origin, tls: tls, route: route)
        }
    }

    /// How often a request is sent again because its connection was closed or its server did not process it.
    private static let maxRefusals = 8
    /// The same if the server processed others instead: it may allow a few requests for each connection, and many may wait.
    private static let maxPasses = 100

    /// The response to return after an attempt; nil to send the request of the changed course again.
    func response(
        of sent: SendResult,
        to exchange: Exchange,
        clock: ExchangeClock,
        course: inout Course
    ) throws(DirectHTTPError) -> ExchangeResponse? {
        switch sent.head {
        case .success(let shared):
            let head = shared.value
            if shouldResend(after: head.response, to: sent, of: exchange, course: &course) { return nil }
            guard Self.hasOneLocation(head.response.headerFields) else {
                exchange.cancel()
                throw .malformed("it has several Location fields with different values")
            }
            return ExchangeResponse(
                head: head.response,
                isHTTP10: head.isHTTP10,
                isRequestHTTP10: head.isRequestHTTP10,
                exchange: exchange,
                decodes: course.request.decodesContent,
                connection: sent.connection.info,
                isReused: sent.isReused,
                timings: ExchangeTimings(
                    info: sent.connection.info,
                    isReused: sent.isReused,
                    firstByte: Duration(head.firstByte - sent.time),
                    begin: clock.begin
                )
            )
        case .failure(let error):
            try prepareResend(after: error.with(attempts: sent.connection.info.attempts), of: sent, course: &course)
            return nil
        }
    }

    /// Whether to send the request again after a response, which is then discarded.
    private func shouldResend(
        after response: HTTPResponse,
        to sent: SendResult,
        of exchange: Exchange,
        course: inout Course
    ) -> Bool {
        // RFC 9110 §11.7.1: the proxy that forwards the request asks for credentials.
        if course.request.body.isReplayable || exchange.gate?.isRefused == true,
            let forwarder = course.key.forwarder,
            forwarder.canAnswer(response, with: proxies, used: course.answer, challenges: course.challenges)
        {
            course.challenges += 1
            if let renew = course.request.onProxyChallenge {
                course.request = course.request.with(cookie: renew(response))
            }
            return true
        }
        // RFC 9110 §15.5.9: a 408 lets the client repeat the request on a new connection.
        if isIdleTimeout(response, sent: sent), course.request.isIdempotent, course.request.body.isReplayable,
            !course.hadIdleTimeout
        {
            course.hadIdleTimeout = true
            course.fresh = true
            return true
        }
        return false
    }

    /// Prepares to send the request again after a failure.
    ///
    /// - Throws: the failure, if the request must not be sent again.
    private func prepareResend(
        after error: DirectHTTPError,
        of sent: SendResult,
        course: inout Course
    ) throws(DirectHTTPError) {
        let isReplayable = course.request.body.isReplayable
        // RFC 9113 §7, HTTP_1_1_REQUIRED.
        if error.requiresHTTP11, course.key.tls.offersHTTP2, isReplayable {
            course.key = course.key.withoutHTTP2
            return
        }
        // RFC 9113 §8.7: the server did not process the request.
        guard course.refusals < Self.maxRefusals, course.passes < Self.maxPasses,
            error.isUnprocessed || mayRepeat(course.request, after: error, isReused: sent.isReused)
        else { throw error }
        guard isReplayable else {
            var error = error
            error.message = DirectHTTPError.withBodyGone(error.message)
            throw error
        }
        if error.servedOthers { course.passes += 1 } else { course.refusals += 1 }
        course.fresh = true
    }

    /// Whether the Location fields agree. As in browsers and curl, a response with two targets is malformed.
    private static func hasOneLocation(_ fields: HTTPFields) -> Bool {
        guard fields.contains(.location) else { return true }
        let values = fields[values: .location]
        return values.allSatisfy { $0 == values[0] }
    }

    /// RFC 9110 §9.2.2: the server may have closed an idle connection just as the request was sent.
    private func mayRepeat(_ request: PreparedRequest, after error: DirectHTTPError, isReused: Bool) -> Bool {
        isReused && error.isBeforeResponse && request.isIdempotent
    }

    /// Whether the response is the end of a kept connection's idle time (408), which the server sent just before the
    /// request arrived. Over HTTP/2 a 408 is always the response to the request.
    private func isIdleTimeout(_ response: HTTPResponse, sent: SendResult) -> Bool {
        response.status.code == 408 && sent.isReused && !sent.connection.isShared
    }
}
