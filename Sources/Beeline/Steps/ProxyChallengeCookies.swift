// SPDX-License-Identifier: Apache-2.0

import CookieJar
import DirectHTTP
import HTTPTypes
import NIOConcurrencyHelpers
import Names

/// The cookies of the 407s of a proxy that forwards a request. The engine answers these challenges itself, so that they are no hops.
/// RFC 6265 §3 makes no exception for them: their cookies are kept for the URL, as those of a 407 without an answer are.
final class ProxyChallengeCookies: Sendable {
    private struct State: Sendable {
        var received: [ReceivedCookieOutcome] = []
        var sent: (field: HTTPField?, names: [String])?
    }

    /// Guards the cookies; the engine calls in the task of the request.
    private let state = NIOLockedValueBox(State())

    /// The outcome of each `Set-Cookie` field, in order.
    var received: [ReceivedCookieOutcome] { state.withLockedValue { $0.received } }
    /// The cookies of the last request; nil if there was no challenge.
    var sent: (field: HTTPField?, names: [String])? { state.withLockedValue { $0.sent } }

    /// Keeps the cookies of a 407 and returns the Cookie field of the next request.
    ///
    /// - Parameters:
    ///   - store: keeps the cookies of a response.
    ///   - outgoing: makes the cookies of a request.
    func renew(
        after response: HTTPResponse,
        store: (HTTPResponse) -> [ReceivedCookieOutcome],
        outgoing: () -> (field: HTTPField?, names: [String])
    ) -> HTTPField? {
        let received = store(response)
        let next = outgoing()
        state.withLockedValue { state in
            state.received += received
            state.sent = next
        }
        return next.field
    }
}
