// SPDX-License-Identifier: Apache-2.0

import Beeline

extension WriteOutVariable {
    /// Returns the value for a transfer.
    func value(_ record: TransferRecord) -> Value {
        let hop = record.lastHop
        switch self {
        case .certificates: return .string(hop?.certificate.map(CertificateText.text) ?? "")
        case .certificateCount: return .number(hop?.certificate == nil ? 0 : 1)
        case .connectionID, .transferID: return .number(Int64(record.transfer.id))
        case .contentType: return Value(hop?.response.headerFields[.contentType])
        case .errorMessage: return Value(Self.errorMessage(record))
        case .exitCode: return .number(Int64(record.status.rawValue))
        case .fileName: return Value(record.path)
        case .entryPath, .urlOptions, .lastOptions: return .absent
        case .httpCode, .responseCode: return .code(record.isUnmodified ? 304 : hop?.status.code ?? 0)
        case .httpConnect: return .code(Self.connectCode(record))
        // curl writes HTTP versions without ".0".
        case .httpVersion: return .string(hop.map { $0.httpVersion == "1.0" ? "1" : $0.httpVersion } ?? "0")
        case .localIP: return Value(hop?.localEndpoint.map { "\($0.address)" })
        case .localPort: return .number(Int64(hop?.localEndpoint?.port ?? 0))
        case .method: return .string((hop?.method ?? record.transfer.request.method).rawValue)
        case .connects: return .number(Int64(record.hops.count { !$0.isReused }))
        case .headers: return .number(Int64(hop?.response.headerFields.count ?? 0))
        case .redirects: return .number(Int64(record.hops.dropLast().count { $0.status.kind == .redirection }))
        case .proxyUsed: return .number(hop?.proxy == nil ? 0 : 1)
        // A proxy without a valid certificate is not used.
        case .proxyVerifyResult, .earlyData: return .number(0)
        case .referer: return Value((hop?.request ?? record.transfer.request).headerFields[.referer])
        case .redirectURL: return Self.redirectURL(hop)
        case .remoteIP: return Value(hop.map { $0.socketPath ?? "\($0.endpoint.address)" })
        case .remotePort: return .number(Int64(hop?.endpoint.port ?? 0))
        case .retries: return .number(Int64(record.retries))
        case .scheme: return Value(hop.map { $0.url.origin.scheme.name } ?? URLParts(record.transfer.text).scheme)
        case .urlNumber: return .number(Int64(record.transfer.number))
        case .url: return .string(record.transfer.text)
        case .urlEffective: return .string(record.effectiveURL)
        case .verifyResult: return .number(Self.verifyResult(record))
        case .sizeDelivered: return .number(record.received)
        // As in curl, the bytes before decoding.
        case .sizeDownload: return .number(record.encoded ?? record.received)
        case .sizeHeader: return .number(Int64(record.headBytes))
        case .sizeRequest:
            let wire = record.transfer.options.wire
            let bodies = record.sent + Self.earlierBodies(record)
            return .number(record.hops.reduce(bodies) { $0 + Int64($1.requestHeadSize(wire: wire)) })
        case .sizeUpload: return .number(record.sent)
        case .speedDownload: return .number(Self.speed(record.encoded ?? record.received, record.lastTry))
        case .speedUpload: return .number(Self.speed(record.sent, record.lastTry))
        case .timeAppConnect: return .seconds(record.phases?.secured ?? .zero)
        case .timeConnect: return .seconds(record.phases?.connected ?? .zero)
        case .timeNameLookup: return .seconds(record.phases?.resolved ?? .zero)
        // The body is sent before the response begins.
        case .timePostTransfer, .timePreTransfer: return .seconds(record.phases?.ready ?? .zero)
        case .timeQueue: return .seconds(.zero)
        case .timeRedirect: return .seconds(record.phases?.redirects ?? .zero)
        case .timeStartTransfer: return .seconds(record.phases?.firstByte ?? .zero)
        case .timeTotal: return .seconds(record.lastTry)
        case .urlFragment, .urlHost, .urlPassword, .urlPath, .urlPort, .urlQuery, .urlScheme, .urlUser, .urlZone:
            return Value(URLParts(record.transfer.text)[rawValue.dropFirst("url.".count)])
        case .lastFragment, .lastHost, .lastPassword, .lastPath, .lastPort, .lastQuery, .lastScheme, .lastUser,
            .lastZone:
            return Value(URLParts(record.effectiveURL)[rawValue.dropFirst("urle.".count)])
        }
    }

    /// The size of the bodies of the requests before the last one, as if they had been sent whole. A server with status 417 has not
    /// read the body.
    private static func earlierBodies(_ record: TransferRecord) -> Int64 {
        record.hops.dropLast().reduce(0) { sum, hop in
            let length = hop.status == .expectationFailed ? nil : hop.request.headerFields[.contentLength]
            return sum + (length.flatMap { Int64($0) } ?? 0)
        }
    }

    /// Returns the message of the failure. That of `-f` has curl's words, which scripts compare.
    private static func errorMessage(_ record: TransferRecord) -> String? {
        guard record.status == .httpError, let code = record.lastHop?.status.code else {
            return record.failure?.message
        }
        return "The requested URL returned error: \(code)"
    }

    /// Returns the redirect target that `-L` would follow.
    private static func redirectURL(_ hop: Hop?) -> Value {
        guard let hop, (300..<400).contains(hop.status.code), let location = hop.response.headerFields.location,
            !location.isEmpty
        else { return .absent }
        // A target with another scheme is shown unchanged.
        return .string((try? hop.url.resolving(location)).map { "\($0)" } ?? location)
    }

    /// Returns the proxy's status for CONNECT; 0 without a CONNECT, and on a reused tunnel.
    private static func connectCode(_ record: TransferRecord) -> Int {
        if let refusal = record.error?.underlyingError as? DirectHTTPError, refusal.code == .proxyRefused {
            return refusal.response?.status.code ?? 0
        }
        guard let hop = record.lastHop, !hop.isReused, let proxy = hop.proxy, proxy.kind == .http else { return 0 }
        return hop.url.origin.scheme.isSecure || proxy.tunnelsPlainHTTP ? 200 : 0
    }

    /// Returns 0 for a valid certificate or none, otherwise 1, OpenSSL's code for "unspecified": BoringSSL does not report the
    /// reason, and `-k` skips verification.
    private static func verifyResult(_ record: TransferRecord) -> Int64 {
        let isUnverified = record.isUnverified && record.lastHop?.url.origin.scheme.isSecure ?? false
        return isUnverified || record.status == .certificateRejected ? 1 : 0
    }

    private static func speed(_ bytes: Int64, _ time: Duration) -> Int64 {
        time > .zero ? Int64(clamping: Double(bytes) / time.seconds) : 0
    }
}

extension Hop {
    /// The size of the request's head in bytes, in the form of HTTP/1.1. As in curl, HTTP/2 requests are counted in this form
    /// too.
    ///
    /// - Parameter wire: how the request was written.
    fileprivate func requestHeadSize(wire: WireOptions) -> Int {
        // Includes the request line, Host, the fields, Connection and the empty line, with their line breaks.
        var size = request.method.rawValue.utf8.count + (request.path ?? "/").utf8.count + 14
        if wire.sendsHost { size += (request.authority ?? "").utf8.count + 8 }
        if let option = wire.connection(of: request) { size += option.utf8.count + 14 }
        let forwarder = forwardingProxy
        for field in Array(request.headerFields) + Array(forwarder?.forwardedFields ?? [:]) {
            size += field.name.rawName.utf8.count + field.withUnsafeBytesOfValue(\.count) + 4
        }
        if let forwarder {
            // A forwarding proxy gets the absolute URL and its own credentials.
            size += url.origin.serialized.utf8.count
            if let authorization = forwarder.authorization { size += authorization.utf8.count + 23 }
        }
        return size
    }
}
