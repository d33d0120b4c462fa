// SPDX-License-Identifier: Apache-2.0

import Beeline
import Foundation
import HTTPTypes
import NIOConcurrencyHelpers

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// What a platform does about redirects.
///
/// On Linux the client follows them, and the task's delegate is asked by us, for Foundation traps when a protocol class
/// tells it of one. On Apple's platforms Foundation is told, asks the delegate, and makes a load of its own for the next hop.
final class PlatformRedirect: Sendable {
    private let plan: LoadPlan
    private let told = NIOLockedValueBox<URLRequest?>(nil)

    init(_ plan: LoadPlan) { self.plan = plan }

    /// The request that Foundation is to be told of.
    var request: URLRequest? { told.withLockedValue { $0 } }

    func next(
        _ proposal: RedirectProposal,
        _ head: HTTPResponse,
        _ mirror: CookieStorageMirror?
    ) async -> RedirectProposal? {
        let request = plan.original.redirected(to: proposal)
        #if canImport(FoundationNetworking)
        guard let delegate = plan.delegate else { return proposal }
        guard let request,
            let response = HTTPURLResponse.make(
                head,
                for: URL(string: proposal.previous.description),
                applicationProtocol: "http/1.1"
            ),
            let answer = await delegate.willRedirect(response, to: request, after: { mirror?.sync() })
        else { return nil }
        return answer == request ? proposal : proposal.taking(answer)
        #else
        told.withLockedValue { $0 = request }
        return nil
        #endif
    }
}

extension URLRequest {
    /// The request that a redirect leads to, as Foundation tells of it.
    fileprivate func redirected(to proposal: RedirectProposal) -> URLRequest? {
        guard let url = URL(string: proposal.url.description) else { return nil }
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
        return request
    }
}

extension RedirectProposal {
    /// The proposal as a delegate wants it instead.
    fileprivate func taking(_ request: URLRequest) -> RedirectProposal {
        var proposal = self
        if let url = request.url.flatMap({ try? HTTPURL($0) }) { proposal.url = url }
        if let method = request.httpMethod.flatMap(HTTPRequest.Method.init(rawValue:)) { proposal.method = method }
        for (name, value) in request.allHTTPHeaderFields ?? [:] {
            guard let name = HTTPField.Name(name), name != .cookie, name.canonicalName != "host" else { continue }
            proposal.fields[name] = value
        }
        return proposal
    }
}
