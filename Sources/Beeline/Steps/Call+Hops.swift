// SPDX-License-Identifier: Apache-2.0

import DirectHTTP
import HTTPTypes
import Names

extension Call {
    // MARK: The nine steps of a request

    /// Sends a request and follows its redirects.
    func follow(_ request: ClientRequest, side: HedgeSide?) async throws(BeelineError) -> Response {
        // 1 Prepare.
        var journey = HopJourney(request, of: self)
        while true {
            // 2 Add cookies and credentials. 3 Choose the route.
            let pending = try journey.prepare(request, of: self, side: side)
            // 4 Lease a connection. 5 Resolve and dial, if there is none. 6 Exchange.
            let response: ExchangeResponse
            do {
                response = try await client.exchange(
                    pending.prepared,
                    routing: pending.routing,
                    limits: limits(of: request).left(at: client.clock.now()),
                    screen: request.options.screen,
                    upgrade: upgrade
                )
            } catch {
                if error.underlyingError is HTTPSRecordUpgrade, journey.upgrade(pending) { continue }
                throw journey.failure(error, of: pending)
            }
            // 7 Store cookies. 8 Answer a challenge, drop an expectation, or redirect.
            switch try journey.handle(response, to: pending, request: request, of: self) {
            case .resend: break
            case .redirect where try await redirect(&journey, after: response, request: request): break
            // 9 Return the response.
            case .redirect, .done: return Response(response, hops: journey.hops)
            }
            await response.body.discard()
        }
    }

    /// Moves a journey to the target of a redirect. Returns false if the response is final.
    @inline(never)
    private func redirect(
        _ journey: inout HopJourney,
        after exchanged: ExchangeResponse,
        request: ClientRequest
    ) async throws(BeelineError) -> Bool {
        let options = request.options
        let response = exchanged.head
        guard case .follow(let limit) = options.redirects ?? client.configuration.redirects else { return false }
        let hop = journey.hop
        do throws(BeelineError) {
            let keeps = options.credentialsFollowRedirects
            let rules = options.redirectRules ?? client.configuration.redirectRules
            let hsts = client.hsts
            guard
                var next = try Redirect.next(
                    after: hop,
                    response: response,
                    rules: rules,
                    keepsCredentials: keeps,
                    hsts: hsts,
                    hasUpgradeRecord: client.hasUpgradeRecord
                )
            else { return false }
            if next.url.origin != hop.url.origin, next.credentials == next.url.credentials {
                next.credentials = next.url.credentials(or: client.configuration.credentialSource)
            }
            guard journey.redirects < limit else {
                // A host whose https URL redirects to http would cause an endless loop.
                let cause = hop.isUpgraded ? "; the URL was http, and \(hop.upgradeReason)" : ""
                let remedy =
                    hop.isUpgradedByRecord ? HTTPSRecordRemedy.keepHTTP : "raise the limit if that is intended"
                throw BeelineError(
                    .tooManyRedirects,
                    "\(journey.hops[0].url) was redirected \(limit) times, last to \(next.url)\(cause): \(remedy)"
                )
            }
            var proposal: RedirectProposal?
            if let ask = options.onRedirect {
                proposal = await ask(next.proposal(after: hop.url), response)
                guard proposal != nil else { return false }
            }
            guard next.body.isReplayable || exchanged.isRequestBodyUnread || proposal?.body != nil else {
                throw BeelineError(
                    .bodyNotReplayable,
                    "\(hop.url) redirects to \(next.url) with the body, which can be read only once: use RequestBody.stream"
                )
            }
            journey.go(to: proposal.map { next.taking($0, hsts: hsts) } ?? next)
            if keeps, let credentials = journey.hop.credentials {
                client.auth.carryBasic(credentials, from: hop.url.origin, to: journey.hop.url.origin)
            }
            return true
        } catch {
            var error = error
            error.hops = journey.hops
            throw error
        }
    }
}
