// SPDX-License-Identifier: Apache-2.0

import DirectHTTP
import HTTPTypes
import Names

/// The request of one hop: that of the caller, or the one after a redirect.
struct HopRequest: Sendable {
    var method: HTTPRequest.Method
    var url: HTTPURL
    /// All fields but Cookie.
    var fields: HTTPFields
    var body: RequestBody
    /// The caller's Host, if it differs from that of the URL.
    var authority: String?
    /// The caller's own Cookie header.
    var explicitCookies: String?
    /// The credentials for this hop's origin; `nil` uses the configured credentials.
    var credentials: Credentials?
    var decodesContent = false
    /// Whether HSTS or an HTTPS record replaced `http` in the URL of this hop.
    private(set) var isUpgraded = false
    /// Whether it was an HTTPS record.
    private(set) var isUpgradedByRecord = false
    /// The host of the cookies in place of the URL's; nil after a redirect to another origin.
    var cookieHost: Host?
    /// A redirect removes the request target.
    var wire: WireOptions
    /// Whether a request without `Origin` is sent with that of the URL. True for the handshake of a WebSocket.
    private let sendsOrigin: Bool
    /// How long the body waits for `100 Continue`, if there is an `Expect` field.
    private let continueLimit: Duration?

    /// Creates the first hop: the caller's request, with the client's defaults for missing fields.
    ///
    /// - Parameters:
    ///   - hsts: The hosts that require TLS.
    ///   - takesBody: Whether the response's body is used. False for the handshake of a WebSocket.
    init(_ request: ClientRequest, configuration: borrowing ClientConfiguration, hsts: HSTSStore?, takesBody: Bool) {
        method = request.method
        url = request.url
        body = request.body
        fields = request.fields
        sendsOrigin = !takesBody
        continueLimit = request.options.expectContinue
        explicitCookies = fields[.cookie]
        fields[.cookie] = nil
        // Removes Host from the fields, because the target of a redirect has its own.
        if let authority = fields.takeHost() ?? request.head.authority, authority != url.origin.authority {
            self.authority = authority
        }
        if fields[.userAgent] == nil { fields[.userAgent] = configuration.userAgent }
        if fields[.accept] == nil, takesBody { fields[.accept] = configuration.accept }
        if fields[.contentType] == nil, let type = body.contentType { fields[.contentType] = type }
        if continueLimit != nil { fields[.expect] = "100-continue" }
        // Part of an encoded body cannot be decoded, unless it begins at the first byte.
        let isOurs = fields[.acceptEncoding] == nil && fields[.range] == nil
        if takesBody, configuration.decodesContent, isOurs || request.options.decodesEveryBody {
            if fields[.acceptEncoding] == nil, request.options.offersCodings {
                fields[.acceptEncoding] = ContentCoding.offer
            }
            decodesContent = true
        }
        wire = request.options.wire
        cookieHost = request.options.cookieHost
        let source = configuration.credentialSource
        credentials = request.options.credentials ?? url.credentials(or: source)
        upgrade(by: hsts)
    }

    /// Replaces `http` in the URL if the host requires TLS (RFC 6797 §8.3).
    mutating func upgrade(by hsts: HSTSStore?) {
        guard let secure = hsts?.upgraded(url) else { return }
        url = secure
        isUpgraded = true
    }

    /// Replaces `http` in the URL because an HTTPS record shows that the host serves `https` (RFC 9460 §9.5). Returns
    /// false if the URL already has TLS.
    mutating func upgradeByRecord() -> Bool {
        guard let secure = url.withTLS else { return false }
        url = secure
        isUpgraded = true
        isUpgradedByRecord = true
        return true
    }

    /// The reason of the upgrade, for errors.
    var upgradeReason: String {
        isUpgradedByRecord
            ? "the host has an HTTPS record in DNS" : "the host requires TLS by HSTS"
    }

    /// Moves to another URL, and upgrades it if the host requires TLS.
    mutating func go(to target: HTTPURL, hsts: HSTSStore?) {
        url = target
        isUpgraded = false
        isUpgradedByRecord = false
        upgrade(by: hsts)
    }

    /// The URL for the cookies that are sent and kept.
    var cookieURL: HTTPURL {
        guard let cookieHost else { return url }
        let origin = Origin(scheme: url.origin.scheme, host: cookieHost, port: url.origin.port)
        return (try? HTTPURL(origin: origin, target: url.target)) ?? url
    }

    /// Creates the request for the engine.
    func prepared(
        cookie: HTTPField?,
        authorization: String?,
        traceFields: HTTPFields
    ) throws(DirectHTTPError) -> PreparedRequest {
        var fields = fields
        // Set here, because HSTS and HTTPS records change the scheme of the URL.
        if sendsOrigin, fields[.origin] == nil { fields[.origin] = url.origin.httpEquivalent.serialized }
        if let cookie { fields.append(cookie) }
        if let authorization { fields[.authorization] = authorization }
        // The caller's fields override those of the tracer.
        for field in traceFields where fields[field.name] == nil { fields.append(field) }
        var prepared = try PreparedRequest(
            method,
            url.origin,
            target: url.target,
            fields: fields,
            body: body,
            authority: authority,
            options: wire
        )
        prepared.decodesContent = decodesContent
        if let continueLimit { prepared.continueLimit = continueLimit }
        return prepared
    }

    // MARK: Redirect proposals

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

    /// Returns the request after the changes of a proposal.
    func taking(_ proposal: RedirectProposal, hsts: HSTSStore?) -> HopRequest {
        var hop = self
        if proposal.url != url { hop.go(to: proposal.url, hsts: hsts) }
        (hop.method, hop.fields) = (proposal.method, proposal.fields)
        (hop.explicitCookies, hop.authority) = (proposal.cookies, proposal.authority)
        if let body = proposal.body { hop.body = body }
        // The credentials belong to the target of the redirect only.
        if hop.url.origin != url.origin { hop.credentials = hop.url.credentials }
        return hop
    }
}

extension HTTPURL {
    /// The credentials of the URL's `user:password@`.
    var credentials: Credentials? { user.map { .basic(user: $0, password: password ?? "") } }

    /// The credentials of `user:password@`, or else those of a source. The source may have the password of a user.
    func credentials(or source: ((HTTPURL) -> Credentials?)?) -> Credentials? {
        password == nil ? source?(self) ?? credentials : credentials
    }
}
