// SPDX-License-Identifier: Apache-2.0

import CookieJar
import DirectHTTP
import HTTPTypes
import Names

/// The way of a request from hop to hop: those steps of ``Call/follow(_:_:)`` in which nobody waits.
///
/// They are no part of that function: an asynchronous function keeps what it needs at any time for all of its life.
struct HopJourney {
    /// What a hop asks for, and what is needed to understand its answer.
    struct Departure {
        let prepared: PreparedRequest
        let route: Route
        fileprivate let context: CookieContext
        fileprivate let cookies: [String]
        fileprivate let credentials: Credentials?
        fileprivate let answer: AuthMemory.Answer?
        fileprivate let observation: HopObservation?
    }

    /// What follows from a response.
    enum Arrival {
        case done
        /// The same hop is made once more, with what it lacked.
        case again
        /// It names another place.
        case redirect
    }

    private(set) var hop: HopRequest
    private(set) var hops: [Hop] = []
    private(set) var redirects = 0
    private var challenges = 0

    /// Step 1: the request with the client's habits.
    @inline(never)
    init(_ request: ClientRequest, of call: Call) {
        hop = HopRequest(request, configuration: call.client.configuration, takesBody: call.upgrade == nil)
    }

    /// Steps 2 and 3: cookies and credentials out, and the route.
    @inline(never)
    func depart(_ request: ClientRequest, of call: Call, _ side: HedgeSide?) throws(BeelineError) -> Departure {
        let client = call.client
        let context = request.options.cookieContext(of: hop.url, hop.method)
        let cookies = CookieStep.outgoing(
            request.options.sendsCookies ? call.jar(of: request) : nil,
            url: hop.url,
            explicit: hop.explicitCookies,
            context: context
        )
        let credentials =
            hop.fields[.authorization] == nil
            ? hop.credentials ?? client.configuration.credentials(for: hop.url.origin) : nil
        let answer = credentials.flatMap {
            client.auth.authorization(
                $0,
                for: hop.url.origin,
                method: hop.method,
                target: hop.url.target,
                body: hop.body.bytesInMemory
            )
        }
        let route = try client.configuration.route(to: hop.url.origin)
        let observation = client.telemetry?.begin(hop, request: call.countRequest())
        do {
            var prepared = try hop.prepared(
                cookie: cookies.field,
                authorization: answer?.field,
                traceFields: observation?.fields ?? [:]
            )
            prepared.hedgeSide = side
            return Departure(
                prepared: prepared,
                route: route,
                context: context,
                cookies: cookies.names,
                credentials: credentials,
                answer: answer,
                observation: observation
            )
        } catch {
            throw lost(error, route, observation)
        }
    }

    /// The error of a hop that has no response.
    @inline(never)
    func lost(_ error: DirectHTTPError, _ departure: Departure) -> BeelineError {
        lost(error, departure.route, departure.observation)
    }

    private func lost(_ error: DirectHTTPError, _ route: Route, _ observation: HopObservation?) -> BeelineError {
        let error = BeelineError(error, hops: hops, route: route)
        observation?.failed(error)
        return error
    }

    /// Steps 7 and 8: cookies in, under this hop's name, and whatever the response asks for: credentials, no expectation, another
    /// place.
    @inline(never)
    mutating func arrive(
        _ response: ExchangeResponse,
        _ departure: Departure,
        _ request: ClientRequest,
        of call: Call
    ) throws(BeelineError) -> Arrival {
        let keepsCookies = request.options.keepsCookies && request.options.keepsCookiesOf?(hop.url) ?? true
        let received = CookieStep.incoming(
            keepsCookies ? call.jar(of: request) : nil,
            url: hop.url,
            fields: response.head.headerFields,
            context: departure.context
        )
        hops.append(
            Hop(
                hop,
                departure.prepared,
                response,
                departure.route,
                cookiesSent: departure.cookies,
                cookiesReceived: received
            )
        )
        departure.observation?.answered(response, hops[hops.count - 1])
        if let credentials = departure.credentials, challenges < AuthMemory.maximumChallenges,
            try isAnswerable(response.head, credentials, used: departure.answer, call.client.auth)
        {
            challenges += 1
            return .again
        }
        if response.head.status == .expectationFailed, hop.fields[.expect] != nil, hop.body.isReplayable {
            hop.fields[.expect] = nil
            return .again
        }
        return Redirect.isOne(response.head) ? .redirect : .done
    }

    /// Goes on to where a response leads.
    mutating func go(to next: HopRequest) {
        redirects += 1
        challenges = 0
        hop = next
    }

    /// Takes what a response says about credentials. True: the request is to be sent again, and will be answered better.
    private func isAnswerable(
        _ response: HTTPResponse,
        _ credentials: Credentials,
        used: AuthMemory.Answer?,
        _ auth: AuthMemory
    ) throws(BeelineError) -> Bool {
        guard response.status == .unauthorized else {
            auth.follow(response.headerFields[.authenticationInfo], credentials, for: hop.url.origin)
            return false
        }
        guard
            auth.learn(
                response.headerFields[values: .wwwAuthenticate],
                credentials,
                for: hop.url.origin,
                used: used,
                isRemembered: challenges == 0
            )
        else { return false }
        guard hop.body.isReplayable else {
            throw BeelineError(
                BeelineError.Code(.bodyNotReplayable),
                "\(hop.url) wants credentials before the body, which can be read only once: use RequestBody.stream",
                hops: hops
            )
        }
        return true
    }
}

extension Call {
    fileprivate func jar(of request: ClientRequest) -> CookieJar? { request.options.jar ?? client.configuration.jar }
}
