// SPDX-License-Identifier: Apache-2.0

import CookieJar
import DirectHTTP
import HTTPTypes
import Names

/// The state of a call from hop to hop: the synchronous steps of ``Call/follow(_:side:)``.
///
/// They are separate so that the async frame of that function stays small.
struct HopJourney {
    /// The request of a hop, and the state needed to handle its response.
    struct PendingHop {
        let prepared: PreparedRequest
        let routing: OriginRouting
        fileprivate let context: CookieContext
        fileprivate let cookies: [String]
        fileprivate let credentials: Credentials?
        fileprivate let answer: AuthMemory.Answer?
        fileprivate let observation: HopObservation?
        /// Nil if no forwarding proxy can ask for credentials.
        fileprivate var challengeCookies: ProxyChallengeCookies?

        /// The last request, with the cookies after a proxy's challenge.
        fileprivate var sent: PreparedRequest {
            challengeCookies?.sent.map { prepared.with(cookie: $0.field) } ?? prepared
        }
    }

    enum NextStep {
        case done
        /// Send the same hop again, for example with credentials.
        case resend
        case redirect
    }

    private(set) var hop: HopRequest
    private(set) var hops: [Hop] = []
    private(set) var redirects = 0
    private var challenges = 0
    /// The number of a request that was counted, but not sent.
    private var unsentNumber: Int?

    /// Step 1: adds the client's defaults to the request.
    @inline(never)
    init(_ request: ClientRequest, of call: Call) {
        let client = call.client
        hop = HopRequest(
            request,
            configuration: client.configuration,
            hsts: client.hsts,
            takesBody: call.upgrade == nil
        )
    }

    /// Steps 2 and 3: adds cookies and credentials, and chooses the route.
    @inline(never)
    mutating func prepare(
        _ request: ClientRequest,
        of call: Call,
        side: HedgeSide?
    ) throws(BeelineError) -> PendingHop {
        let client = call.client
        if client.hasUpgradeRecord(for: hop.url.origin) { _ = hop.upgradeByRecord() }
        let context = request.options.cookieContext(of: hop.url, method: hop.method)
        let cookies = outgoingCookies(of: request, context, call)
        let credentials =
            hop.fields[.authorization] == nil
            ? hop.credentials ?? client.configuration.credentials(for: hop.url.origin) : nil
        let answer = credentials.flatMap {
            client.auth.authorization(
                $0,
                for: hop.url.origin,
                method: hop.method,
                target: hop.wire.target ?? hop.url.target,
                body: hop.body.bytesInMemory
            )
        }
        let routing = client.configuration.routing(to: hop.url.origin)
        if case .refused(let problem) = routing {
            // With the hops before, because the call must not be repeated once a server has answered.
            var error = BeelineError(.proxyUnresolved, "\(hop.url.origin): \(problem)", hops: hops)
            error.failedURL = hop.url
            throw error
        }
        let observation = client.telemetry?.begin(hop, request: unsentNumber ?? call.countRequest())
        unsentNumber = nil
        do {
            var prepared = try hop.prepared(
                cookie: cookies.field,
                authorization: answer?.field,
                traceFields: observation?.fields ?? [:]
            )
            if let side { prepared.hedgeSide = side }
            prepared.onHead = request.options.onHead
            let challengeCookies = challengeCookies(for: &prepared, routing: routing, to: request, context, call)
            return PendingHop(
                prepared: prepared,
                routing: routing,
                context: context,
                cookies: cookies.names,
                credentials: credentials,
                answer: answer,
                observation: observation,
                challengeCookies: challengeCookies
            )
        } catch {
            throw failure(error, routing: routing, observation: observation)
        }
    }

    /// Makes a request keep and send the cookies of its proxy's challenges, and returns them; nil if no forwarding proxy
    /// can ask for credentials.
    private func challengeCookies(
        for prepared: inout PreparedRequest,
        routing: OriginRouting,
        to request: ClientRequest,
        _ context: CookieContext,
        _ call: Call
    ) -> ProxyChallengeCookies? {
        guard routing.route.forwarder(for: hop.url.origin)?.user != nil else { return nil }
        let cookies = ProxyChallengeCookies()
        prepared.onProxyChallenge = { [self] response in
            cookies.renew(after: response) { response in
                incomingCookies(of: response, to: request, context, call)
            } outgoing: {
                outgoingCookies(of: request, context, call)
            }
        }
        return cookies
    }

    /// Changes a hop that was not sent to `https`, because of an HTTPS record. Returns false if it already has TLS.
    mutating func upgrade(_ pending: PendingHop) -> Bool {
        pending.observation?.superseded()
        unsentNumber = pending.observation?.number
        return hop.upgradeByRecord()
    }

    /// Creates the error of a hop that has no response.
    @inline(never)
    func failure(_ error: DirectHTTPError, of pending: PendingHop) -> BeelineError {
        var result = failure(error, routing: pending.routing, observation: pending.observation)
        if error.attempts.contains(where: { $0.outcome == .connected }) {
            result.sentRequest = BeelineError.SentRequest(HTTPRequest(pending.sent, to: hop.url, isHTTP2: nil))
        }
        return result
    }

    private func failure(
        _ error: DirectHTTPError,
        routing: OriginRouting,
        observation: HopObservation?
    ) -> BeelineError {
        var error = BeelineError(error, hops: hops, route: routing.route)
        error.failedURL = hop.url
        error.addOrigin(hop.url.origin)
        if hop.isUpgraded { error.message += " (the URL was http; \(hop.upgradeReason))" }
        observation?.failed(error)
        return error
    }

    /// Steps 7 and 8: keeps the cookies for the URL of this hop and decides what to do next: answer a challenge, drop an
    /// expectation, redirect, or finish.
    @inline(never)
    mutating func handle(
        _ response: ExchangeResponse,
        to pending: PendingHop,
        request: ClientRequest,
        of call: Call
    ) throws(BeelineError) -> NextStep {
        let received =
            (pending.challengeCookies?.received ?? [])
            + incomingCookies(of: response.head, to: request, pending.context, call)
        let resent = pending.challengeCookies?.sent
        recordTLSRequirement(of: response.head, client: call.client)
        hops.append(
            Hop(
                hop,
                request: pending.sent,
                response: response,
                route: pending.routing.route,
                cookiesSent: resent?.names ?? pending.cookies,
                cookiesReceived: received,
                receivedAt: call.client.clock.date()
            )
        )
        pending.observation?.answered(response, hop: hops[hops.count - 1])
        let canRepeatBody = hop.body.isReplayable || response.isRequestBodyUnread
        if let credentials = pending.credentials, challenges < AuthMemory.maxChallenges,
            try shouldResend(
                after: response.head,
                credentials: credentials,
                used: pending.answer,
                auth: call.client.auth,
                canRepeatBody: canRepeatBody
            )
        {
            challenges += 1
            return .resend
        }
        if response.head.status == .expectationFailed, hop.fields[.expect] != nil, canRepeatBody {
            hop.fields[.expect] = nil
            return .resend
        }
        return Redirect.applies(to: response.head) ? .redirect : .done
    }

    /// Makes the Cookie field of this hop.
    private func outgoingCookies(
        of request: ClientRequest,
        _ context: CookieContext,
        _ call: Call
    ) -> (field: HTTPField?, names: [String]) {
        CookieStep.outgoing(
            request.options.sendsCookies ? call.jar(of: request) : nil,
            url: hop.cookieURL,
            explicit: hop.explicitCookies,
            context: context,
            limits: request.options.cookieLimits
        )
    }

    /// Keeps the cookies of a response to this hop.
    private func incomingCookies(
        of response: HTTPResponse,
        to request: ClientRequest,
        _ context: CookieContext,
        _ call: Call
    ) -> [ReceivedCookieOutcome] {
        let keepsCookies = request.options.keepsCookies && request.options.keepsCookiesOf?(hop.url) ?? true
        return CookieStep.incoming(
            keepsCookies ? call.jar(of: request) : nil,
            url: hop.cookieURL,
            fields: response.headerFields,
            context: context,
            limits: request.options.cookieLimits
        )
    }

    /// Records whether the host requires TLS (RFC 6797 §8.1), from the first field of a response over TLS whose
    /// certificate was verified.
    private func recordTLSRequirement(of response: HTTPResponse, client: BeelineClient) {
        guard let hsts = client.hsts, hop.url.origin.scheme.isSecure,
            client.configuration.tls.verifiesCertificate,
            let field = response.headerFields[values: .strictTransportSecurity].first
        else { return }
        hsts.record(field, of: hop.url.host)
    }

    /// Moves to the target of a redirect.
    mutating func go(to next: HopRequest) {
        redirects += 1
        challenges = 0
        hop = next
    }

    /// Updates the credentials' state from a response. Returns true if the request can be sent again with better credentials.
    private func shouldResend(
        after response: HTTPResponse,
        credentials: Credentials,
        used: AuthMemory.Answer?,
        auth: AuthMemory,
        canRepeatBody: Bool
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
        guard canRepeatBody else {
            throw BeelineError(
                .bodyNotReplayable,
                "\(hop.url) asks for credentials, but the body can be read only once: use RequestBody.stream",
                hops: hops
            )
        }
        return true
    }
}

extension BeelineClient {
    /// Whether the cache has an HTTPS record that changes `http` to `https` for this origin. A record that is not in the cache is
    /// found together with the addresses, when dialling.
    func hasUpgradeRecord(for origin: Origin) -> Bool {
        origin.scheme == .http && resolver.hasCachedHTTPS(origin) && configuration.routing(to: origin) == .resolve
    }
}

extension Call {
    fileprivate func jar(of request: ClientRequest) -> CookieJar? { request.options.jar ?? client.jar }
}
