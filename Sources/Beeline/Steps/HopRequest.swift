// SPDX-License-Identifier: Apache-2.0

import DirectHTTP
import HTTPTypes
import Names

/// What one hop asks for: the request of the caller, or what a redirect made of it.
struct HopRequest: Sendable {
    var method: HTTPRequest.Method
    var url: HTTPURL
    /// All fields but Cookie.
    var fields: HTTPFields
    var body: RequestBody
    /// The Host that the caller wants instead of the URL's.
    var authority: String?
    /// The caller's own Cookie header.
    var explicitCookies: String?
    var decodesContent = false

    /// The first hop: the caller's request with the client's habits added where it says nothing.
    init(_ request: HTTPRequest, url: HTTPURL, body: RequestBody, configuration: ClientConfiguration) {
        method = request.method
        self.url = url
        self.body = body
        fields = request.headerFields
        explicitCookies = fields[.cookie]
        fields[.cookie] = nil
        if let authority = request.authority, authority != url.origin.authority { self.authority = authority }
        if fields[.userAgent] == nil { fields[.userAgent] = configuration.userAgent }
        if fields[.accept] == nil { fields[.accept] = configuration.accept }
        if fields[.acceptEncoding] == nil, configuration.decodesContent {
            fields[.acceptEncoding] = "gzip, deflate"
            decodesContent = true
        }
        if fields[.authorization] == nil, let user = url.user {
            fields[.authorization] = BasicCredentials(user: user, password: url.password ?? "").fieldValue
        }
    }

    /// The request as the engine takes it.
    func prepared(cookie: HTTPField?) throws(DirectHTTPError) -> PreparedRequest {
        var fields = fields
        if let cookie { fields.append(cookie) }
        var prepared = try PreparedRequest(method, url, fields: fields, body: body, authority: authority)
        prepared.decodesContent = decodesContent
        return prepared
    }

    // MARK: Asking about a redirect

    func proposal(after previous: HTTPURL) -> RedirectProposal {
        RedirectProposal(previous: previous, method: method, url: url, fields: fields)
    }

    /// The request as somebody wants it instead.
    func taking(_ proposal: RedirectProposal) -> HopRequest {
        var hop = self
        (hop.method, hop.url, hop.fields) = (proposal.method, proposal.url, proposal.fields)
        return hop
    }
}
