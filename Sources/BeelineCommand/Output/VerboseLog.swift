// SPDX-License-Identifier: Apache-2.0

import Beeline

/// The output of `-v`: resolution, connection, request and response of each hop. It hides credentials and cookie values,
/// because users paste such logs into reports; `-i` shows Set-Cookie fields in full.
enum VerboseLog {
    /// Returns the lines for a hop: `*` events, `>` request, `<` response.
    ///
    /// - Parameter wire: how its request was written.
    static func lines(_ hop: Hop, wire: WireOptions) -> [String] {
        let request = Self.request(hop.request, wire: wire, of: hop)
        return upgrade(hop).map { "* \($0)" } + connection(hop).map { "* \($0)" } + request.map { "> \($0)" } + [">"]
            + response(hop).map { "< \($0)" } + ["<"] + cookies(hop).map { "* \($0)" }
    }

    /// Returns the lines for a request without a response: its attempts to connect, and the request if it was sent.
    static func lines(_ error: BeelineError, wire: WireOptions) -> [String] {
        let attempts = error.attempts.map { "* \(CommandFailure.withOptions("\($0)"))" }
        guard let request = error.sentRequest?.head else { return attempts }
        return attempts + Self.request(request, wire: wire).map { "> \($0)" } + [">"]
    }

    /// Returns the lines for a proxy's answer to a request for a tunnel.
    ///
    /// A successful answer has no body, whatever its fields are (RFC 9110 §9.3.6).
    static func lines(ofTunnel head: ReceivedHead) -> [String] {
        let status = head.response.status
        guard status.kind == .successful else { return ["* The proxy answered \(status.code) to CONNECT"] }
        let ignored = [HTTPField.Name.contentLength, .transferEncoding].filter {
            head.response.headerFields.contains($0)
        }
        return ["* The proxy opened a tunnel"] + ignored.map { "* Ignoring \($0) in CONNECT \(status.code) response" }
    }

    private static func upgrade(_ hop: Hop) -> [String] {
        hop.isUpgradedToTLS ? ["Changed http to https: \(hop.url.host) requires TLS (HSTS or HTTPS record)"] : []
    }

    private static func connection(_ hop: Hop) -> [String] {
        let origin = hop.url.origin
        let peer = hop.socketPath ?? "\(hop.endpoint)"
        guard !hop.isReused else { return ["Reusing the connection to \(peer) for \(origin)"] }
        var lines: [String] = []
        if let resolution = hop.resolution {
            let addresses = resolution.addresses.map(\.description).joined(separator: ", ")
            // The name of a table, such as `hosts:FILE`, says more than `fixed`.
            let source = resolution.source == .fixed ? resolution.upstream : resolution.sourceText
            lines.append("Resolved \(resolution.host) to \(addresses) by \(source)")
            lines += resolution.failures.map { "No answer from \($0)" }
        }
        if let proxy = hop.proxy { lines.append("Using the proxy \(proxy)") }
        lines += hop.attempts.filter { $0.outcome != .connected }.map(\.description)
        let timings = hop.timings
        let phases = [("resolved", timings.resolve), ("connected", timings.connect), ("secured", hop.tlsTime)]
        let times = phases.compactMap { name, time in time.map { "\(name) in \($0.milliseconds) ms" } }
        lines.append("Connected to \(peer) for \(origin), \(hop.applicationProtocol); " + times.joined(separator: ", "))
        if let name = hop.ech.publicName { lines.append("ECH \(hop.ech), with the public name \(name)") }
        return lines
    }

    private static func request(_ request: HTTPRequest, wire: WireOptions, of hop: Hop? = nil) -> [String] {
        let isHTTP2 = hop?.applicationProtocol == "h2"
        // Without a response, the version is not known.
        let version = hop == nil ? "" : isHTTP2 ? " HTTP/2" : hop?.isRequestHTTP10 == true ? " HTTP/1.0" : " HTTP/1.1"
        let forwarder = hop?.forwardingProxy
        // A proxy gets the whole URL (RFC 9112 §3.2.2).
        let origin = forwarder == nil ? "" : hop?.url.origin.serialized ?? ""
        var lines = ["\(request.method.rawValue) \(origin)\(request.path ?? "/")\(version)"]
        if wire.sendsHost || isHTTP2 { lines.append("Host: \(request.authority ?? "")") }
        let fields = Array(request.headerFields) + Array(forwarder?.forwardedFields ?? [:])
        for field in fields { lines.append("\(field.name.rawName): \(shown(field))") }
        if let option = wire.connection(of: request), !isHTTP2 { lines.append("Connection: \(option)") }
        return lines
    }

    private static func response(_ hop: Hop) -> [String] {
        // HTTP/2 has no reason phrases.
        let reason = hop.applicationProtocol == "h2" ? "" : hop.status.reasonPhrase
        return ["HTTP/\(hop.httpVersion) \(hop.status.code) \(reason)"]
            + hop.response.headerFields.map { "\($0.name.rawName): \(shown($0))" }
    }

    private static func cookies(_ hop: Hop) -> [String] {
        hop.cookiesReceived.map { "Cookie \($0.name): \($0.outcome)" }
    }

    /// Returns a field's value without secrets.
    private static func shown(_ field: HTTPField) -> String {
        switch field.name {
        case .authorization, .proxyAuthorization:
            // A value without a space has no scheme; all of it may be secret.
            let words = field.value.split(separator: " ", maxSplits: 1)
            return words.count == 2 ? "\(words[0]) …" : "…"
        case .cookie:
            return field.value.split(separator: ";").map { hidden($0.trimmingBlanks) }.joined(separator: "; ")
        case .setCookie:
            let parts = field.value.split(separator: ";", maxSplits: 1, omittingEmptySubsequences: false)
            return hidden(parts.first ?? "") + (parts.count > 1 ? ";\(parts[1])" : "")
        default: return field.value.singleLine
        }
    }

    /// Replaces the value in `name=value` with `…`.
    private static func hidden(_ pair: Substring) -> String {
        pair.firstIndex(of: "=").map { "\(pair[...$0])…" } ?? "…"
    }
}

extension WireOptions {
    /// The value of the `Connection` field of a request in HTTP/1; nil: no field.
    func connection(of request: HTTPRequest) -> String? { connection(hasTE: request.headerFields.contains(.te)) }
}

extension Hop {
    /// The proxy that forwarded the request; nil without a proxy, and through a tunnel.
    var forwardingProxy: Proxy? {
        guard let proxy, proxy.kind == .http, !proxy.tunnelsPlainHTTP, !url.origin.scheme.isSecure else { return nil }
        return proxy
    }

    /// How long TLS and the steps of a proxy took; nil without TLS, and on a reused connection.
    var tlsTime: Duration? {
        url.origin.scheme.isSecure || proxy?.origin.scheme.isSecure == true ? timings.handshake : nil
    }
}

extension Resolution {
    /// The source of the answer, with its kind if it comes from the cache: `dnspod:119.29.29.29`, `doh:1.1.1.1,cached`.
    var sourceText: String {
        switch source {
        case .fresh: upstream
        case .cached, .stale: "\(upstream),\(source)"
        case .system, .fixed, .literal: source.description
        }
    }
}
