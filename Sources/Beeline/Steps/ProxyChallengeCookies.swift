// SPDX-License-Identifier: Apache-2.0

import CookieJar
import DirectHTTP
import HTTPTypes
import NIOConcurrencyHelpers
import Names

/// The cookies of the 407 responses of a proxy that forwards a request. The engine answers these challenges, so they
/// are not hops. RFC 6265 §3 makes no exception for them. Their cookies are kept for the URL, like those of a 407 that
/// is not answered.
final class ProxyChallengeCookies: Sendable {
    private struct State: Sendable {
        var received: [ReceivedCookieOutcome] = []
        var sent: (field: HTTPField?, names: [String])?
    }

    /// Guards the cookies. The engine calls this object in the task of the request.
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
