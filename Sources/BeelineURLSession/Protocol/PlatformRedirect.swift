// SPDX-License-Identifier: Apache-2.0

import Beeline
import Foundation
import HTTPTypes
import NIOConcurrencyHelpers

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Handles redirects as the platform does.
///
/// On Linux the client follows redirects and this class asks the task's delegate, because Foundation traps if a protocol class
/// reports a redirect. On Apple platforms it reports the redirect to Foundation, which asks the delegate and creates a new load
/// for the next hop. There the delegate's refusal makes the redirect the response of the task.
final class PlatformRedirect: Sendable {
    private let plan: LoadPlan
    /// The request of the last hop: the delegate's answer, or the request to report to Foundation.
    private let last = NIOLockedValueBox<URLRequest?>(nil)

    init(_ plan: LoadPlan) { self.plan = plan }

    /// The request to report to Foundation.
    var request: URLRequest? { last.withLockedValue { $0 } }

    func next(
        _ proposal: RedirectProposal,
        head: HTTPResponse,
        mirror: CookieStorageMirror?
    ) async -> RedirectProposal? {
        #if canImport(FoundationNetworking)
        guard let delegate = await plan.redirectDelegate() else { return proposal }
        guard let request = (request ?? plan.original).redirected(to: proposal),
            let response = HTTPURLResponse.make(
                head,
                for: URL(string: proposal.previous.description),
                applicationProtocol: "http/1.1"
            ),
            let answer = await delegate.willRedirect(response, to: request, after: { mirror?.sync() })
        else { return nil }
        last.withLockedValue { $0 = answer }
        return proposal.taking(answer, insteadOf: request)
        #else
        let request = plan.original.redirected(to: proposal)
        last.withLockedValue { $0 = request }
        return nil
        #endif
    }
}

extension URLRequest {
    /// The request after a redirect, as Foundation reports it.
    fileprivate func redirected(to proposal: RedirectProposal) -> URLRequest? {
        // With the user and password, which a new load of this request, or the client after the delegate's answer, needs.
        guard let url = URL(string: proposal.url.textWithUser) else { return nil }
        var request = self
        request.url = url
        if proposal.method.rawValue != httpMethod {
            request.httpMethod = proposal.method.rawValue
            request.httpBody = nil
            request.httpBodyStream = nil
        }
        for name in (allHTTPHeaderFields ?? [:]).keys {
            let isKept = HTTPField.Name(name).map { proposal.fields[$0] != nil } ?? false
            if !isKept { request.setValue(nil, forHTTPHeaderField: name) }
        }
        request.setValue(proposal.cookies, forHTTPHeaderField: "Cookie")
        request.setValue(proposal.authority, forHTTPHeaderField: "Host")
        return request
    }
}

#if canImport(FoundationNetworking)
extension RedirectProposal {
    /// Applies the delegate's request to the proposal; `nil` if the request is not valid for HTTP.
    fileprivate func taking(_ request: URLRequest, insteadOf told: URLRequest) -> RedirectProposal? {
        guard let url = request.url.flatMap({ try? HTTPURL($0) }),
            let method = HTTPRequest.Method(rawValue: request.httpMethod ?? "GET")
        else { return nil }
        var proposal = self
        // Foundation on Linux treats requests that differ only in fields as equal, so compare each part.
        proposal.url = url
        proposal.method = method
        let fields = request.allHTTPHeaderFields ?? [:]
        for name in (told.allHTTPHeaderFields ?? [:]).keys where fields[name] == nil {
            HTTPField.Name(name).map { proposal.fields[$0] = nil }
        }
        proposal.cookies = nil
        proposal.authority = nil
        for (name, value) in fields {
            switch name.lowercased() {
            case "cookie": proposal.cookies = value
            case "host": proposal.authority = value
            case "content-length": break
            // The program's own field was replaced by the codings that the client can decode.
            case "accept-encoding" where value == told.value(forHTTPHeaderField: name): break
            default: HTTPField.Name(name).map { proposal.fields[$0] = value }
            }
        }
        if let stream = request.httpBodyStream {
            if stream !== told.httpBodyStream { proposal.body = .once(stream, nil) }
        } else if let data = request.httpBody {
            if data != told.httpBody { proposal.body = .bytes(data) }
        } else if told.httpBody != nil || told.httpBodyStream != nil {
            proposal.body = RequestBody.none
        }
        return proposal
    }
}
#endif
