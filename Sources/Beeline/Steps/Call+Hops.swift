// SPDX-License-Identifier: Apache-2.0

import CookieJar
import DirectHTTP
import HTTPTypes
import Names

extension Call {
    /// Challenges that are answered in one hop: one that was asked, and one because a remembered nonce was too old.
    private static let maximumChallenges = 2

    // MARK: The nine steps of a request

    /// Sends a request and follows where its responses lead.
    func follow(_ request: ClientRequest, _ side: HedgeSide?) async throws(BeelineError) -> Response {
        // 1 Prepare.
        let options = request.options
        let jar = options.jar ?? client.configuration.jar
        var hop = HopRequest(request, configuration: client.configuration, takesBody: upgrade == nil)
        var hops: [Hop] = []
        var redirects = 0
        var challenges = 0
        while true {
            // 2 Cookies and credentials out.
            let context = options.cookieContext(of: hop.url, hop.method)
            let cookies = CookieStep.outgoing(
                options.sendsCookies ? jar : nil,
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
            // 3 Route.
            let route = try client.configuration.route(to: hop.url.origin)
            let observation = client.telemetry?.begin(hop, request: countRequest())
            // 4 Resolve (only where a connection must be dialled), 5 Lease, 6 Exchange.
            var prepared: PreparedRequest
            let response: ExchangeResponse
            do {
                prepared = try hop.prepared(
                    cookie: cookies.field,
                    authorization: answer?.field,
                    traceFields: observation?.fields ?? [:]
                )
                prepared.hedgeSide = side
                response = try await client.exchange(prepared, route, limits.left(), options.screen, upgrade)
            } catch {
                let error = BeelineError(error, hops: hops, route: route)
                observation?.failed(error)
                throw error
            }
            // 7 Cookies in, under this hop's name.
            let received = CookieStep.incoming(
                options.keepsCookies && options.keepsCookiesOf?(hop.url) ?? true ? jar : nil,
                url: hop.url,
                fields: response.head.headerFields,
                context: context
            )
            hops.append(Hop(hop, prepared, response, route, cookiesSent: cookies.names, cookiesReceived: received))
            observation?.answered(response, hops[hops.count - 1])
            // 8 Whatever the response asks for: credentials, no expectation, another place.
            if let credentials, challenges < Self.maximumChallenges,
                try isAnswerable(response.head, credentials, hop, used: answer, isRemembered: challenges == 0, hops)
            {
                challenges += 1
            } else if response.head.status == .expectationFailed, hop.fields[.expect] != nil, hop.body.isReplayable {
                hop.fields[.expect] = nil
            } else if let next = try await redirect(hop, response.head, hops, redirects, options) {
                redirects += 1
                challenges = 0
                hop = next
            } else {
                // 9 Done.
                return Response(response, hops: hops)
            }
            await response.body.discard()
        }
    }

    /// Takes what a response says about credentials. True: the request is to be sent again, and will be answered better.
    private func isAnswerable(
        _ response: HTTPResponse,
        _ credentials: Credentials,
        _ hop: HopRequest,
        used: AuthMemory.Answer?,
        isRemembered: Bool,
        _ hops: [Hop]
    ) throws(BeelineError) -> Bool {
        guard response.status == .unauthorized else {
            client.auth.follow(response.headerFields[.authenticationInfo], credentials, for: hop.url.origin)
            return false
        }
        guard
            client.auth.learn(
                response.headerFields[values: .wwwAuthenticate],
                credentials,
                for: hop.url.origin,
                used: used,
                isRemembered: isRemembered
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

    private func redirect(
        _ hop: HopRequest,
        _ response: HTTPResponse,
        _ hops: [Hop],
        _ redirects: Int,
        _ options: RequestOptions
    ) async throws(BeelineError) -> HopRequest? {
        guard case .follow(let limit) = options.redirects ?? client.configuration.redirects else { return nil }
        do throws(BeelineError) {
            let keeps = options.credentialsFollowRedirects
            guard let next = try Redirect.next(after: hop, response, keepsCredentials: keeps) else { return nil }
            guard redirects < limit else {
                throw BeelineError(
                    .tooManyRedirects,
                    "\(hops[0].url) was redirected \(limit) times, last to \(next.url): raise the limit if that is right"
                )
            }
            var proposal: RedirectProposal?
            if let ask = options.onRedirect {
                proposal = await ask(next.proposal(after: hop.url), response)
                guard proposal != nil else { return nil }
            }
            guard next.body.isReplayable || proposal?.body != nil else {
                throw BeelineError(
                    BeelineError.Code(.bodyNotReplayable),
                    "\(hop.url) redirects to \(next.url) with the body, which can be read only once: use RequestBody.stream"
                )
            }
            return proposal.map(next.taking) ?? next
        } catch {
            var error = error
            error.hops = hops
            throw error
        }
    }
}
