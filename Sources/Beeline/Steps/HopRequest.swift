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
    /// Who the caller is to this hop's origin; nil: whoever the configuration says.
    var credentials: Credentials?
    var decodesContent = false
    /// How long the body is held back for `100 Continue` where `Expect` asks for that.
    private let continueLimit: Duration?

    /// The first hop: the caller's request with the client's habits added where it says nothing.
    ///
    /// - Parameter takesBody: whether the response's body is of use; not that of a WebSocket's handshake.
    init(_ request: ClientRequest, configuration: borrowing ClientConfiguration, takesBody: Bool) {
        method = request.method
        url = request.url
        body = request.body
        fields = request.fields
        continueLimit = request.options.expectContinue
        explicitCookies = fields[.cookie]
        fields[.cookie] = nil
        // The origin of a redirect has a Host of its own.
        if let authority = fields.takeHost() ?? request.head.authority, authority != url.origin.authority {
            self.authority = authority
        }
        if fields[.userAgent] == nil { fields[.userAgent] = configuration.userAgent }
        if fields[.accept] == nil, takesBody { fields[.accept] = configuration.accept }
        if fields[.contentType] == nil, let type = body.contentType { fields[.contentType] = type }
        if continueLimit != nil { fields[.expect] = "100-continue" }
        // A part of a coded body cannot be decoded.
        if fields[.acceptEncoding] == nil, fields[.range] == nil, takesBody, configuration.decodesContent {
            fields[.acceptEncoding] = "gzip, deflate"
            decodesContent = true
        }
        credentials = request.options.credentials ?? url.credentials
    }

    /// The request as the engine takes it.
    func prepared(
        cookie: HTTPField?,
        authorization: String?,
        traceFields: HTTPFields
    ) throws(DirectHTTPError) -> PreparedRequest {
        var fields = fields
        if let cookie { fields.append(cookie) }
        if let authorization { fields[.authorization] = authorization }
        // What the caller set goes before what a tracer wants to say.
        for field in traceFields where fields[field.name] == nil { fields.append(field) }
        var prepared = try PreparedRequest(method, url, fields: fields, body: body, authority: authority)
        prepared.decodesContent = decodesContent
        if let continueLimit { prepared.continueLimit = continueLimit }
        return prepared
    }

    // MARK: Asking about a redirect

    func proposal(after previous: HTTPURL) -> RedirectProposal {
        RedirectProposal(
            previous: previous,
            method: method,
            url: url,
            fields: fields,
            cookies: explicitCookies,
            authority: authority
        )
    }

    /// The request as somebody wants it instead.
    func taking(_ proposal: RedirectProposal) -> HopRequest {
        var hop = self
        (hop.method, hop.url, hop.fields) = (proposal.method, proposal.url, proposal.fields)
        (hop.explicitCookies, hop.authority) = (proposal.cookies, proposal.authority)
        if let body = proposal.body { hop.body = body }
        // They are the caller's for the place that the redirect leads to, and for no other.
        if hop.url.origin != url.origin { hop.credentials = hop.url.credentials }
        return hop
    }
}

extension HTTPURL {
    /// Who its `user:password@` says the caller is.
    var credentials: Credentials? { user.map { .basic(user: $0, password: password ?? "") } }
}
