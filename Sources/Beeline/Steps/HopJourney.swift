// SPDX-License-Identifier: Apache-2.0

import CookieJar
import DirectHTTP
import HTTPTypes
import Names

/// The state of a call from hop to hop: the synchronous steps of ``Call/follow(_:_:)``.
///
/// They are separate so that the async frame of that function stays small.
struct HopJourney {
    /// The request of a hop, and the state needed to handle its response.
    struct Departure {
        let prepared: PreparedRequest
        let routing: OriginRouting
        fileprivate let context: CookieContext
        fileprivate let cookies: [String]
        fileprivate let credentials: Credentials?
        fileprivate let answer: AuthMemory.Answer?
        fileprivate let observation: HopObservation?
    }

    /// What to do after a response.
    enum Arrival {
        case done
        /// Send the same hop again, for example with credentials.
        case again
        /// The response is a redirect.
        case redirect
    }

    private(set) var hop: HopRequest
    private(set) var hops: [Hop] = []
    private(set) var redirects = 0
    private var challenges = 0

    /// Step 1: adds the client's defaults to the request.
    @inline(never)
    init(_ request: ClientRequest, of call: Call) {
        hop = HopRequest(request, configuration: call.client.configuration, takesBody: call.upgrade == nil)
    }

    /// Steps 2 and 3: adds cookies and credentials, and chooses the route.
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
        let routing = client.configuration.routing(to: hop.url.origin)
        if case .refused(let problem) = routing {
            throw BeelineError(.proxyUnresolved, "\(hop.url.origin): \(problem)")
        }
        let observation = client.telemetry?.begin(hop, request: call.countRequest())
        do {
            var prepared = try hop.prepared(
                cookie: cookies.field,
                authorization: answer?.field,
                traceFields: observation?.fields ?? [:]
            )
            prepared.hedgeSide = side
            prepared.onHead = request.options.onHead
            return Departure(
                prepared: prepared,
                routing: routing,
                context: context,
                cookies: cookies.names,
                credentials: credentials,
                answer: answer,
                observation: observation
            )
        } catch {
            throw lost(error, routing, observation)
        }
    }

    /// Creates the error of a hop that has no response.
    @inline(never)
    func lost(_ error: DirectHTTPError, _ departure: Departure) -> BeelineError {
        lost(error, departure.routing, departure.observation)
    }

    private func lost(
        _ error: DirectHTTPError,
        _ routing: OriginRouting,
        _ observation: HopObservation?
    ) -> BeelineError {
        let error = BeelineError(error, hops: hops, route: routing.route)
        observation?.failed(error)
        return error
    }

    /// Steps 7 and 8: keeps the cookies for the URL of this hop and decides what to do next: answer a challenge, drop an
    /// expectation, redirect, or finish.
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
                departure.routing.route,
                cookiesSent: departure.cookies,
                cookiesReceived: received,
                receivedAt: call.client.clock.date()
            )
        )
        departure.observation?.answered(response, hops[hops.count - 1])
        if let credentials = departure.credentials, challenges < AuthMemory.maxChallenges,
            try isAnswerable(response.head, credentials, used: departure.answer, call.client.auth)
        {
            challenges += 1
            return .again
        }
        if response.head.status == .expectationFailed, hop.fields[.expect] != nil, hop.body.isReplayable {
            hop.fields[.expect] = nil
            return .again
        }
        return Redirect.applies(to: response.head) ? .redirect : .done
    }

    /// Moves to the target of a redirect.
    mutating func go(to next: HopRequest) {
        redirects += 1
        challenges = 0
        hop = next
    }

    /// Updates the credentials' state from a response. Returns true if the request can be sent again with better credentials.
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
            auth.recordChallenge(
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
                "\(hop.url) asks for credentials, but the body can be read only once: use RequestBody.stream",
                hops: hops
            )
        }
        return true
    }
}

extension Call {
    fileprivate func jar(of request: ClientRequest) -> CookieJar? { request.options.jar ?? client.configuration.jar }
}
