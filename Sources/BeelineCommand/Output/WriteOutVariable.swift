// SPDX-License-Identifier: Apache-2.0

import Beeline

/// A variable of `-w`, with curl's name.
enum WriteOutVariable: String, CaseIterable {
    case contentType = "content_type"
    case errorMessage = "errormsg"
    case exitCode = "exitcode"
    case fileName = "filename_effective"
    case headerJSON = "header_json"
    case httpCode = "http_code"
    case httpConnect = "http_connect"
    case httpVersion = "http_version"
    case json
    case localIP = "local_ip"
    case localPort = "local_port"
    case method
    case connects = "num_connects"
    case headers = "num_headers"
    case redirects = "num_redirects"
    case referer
    case redirectURL = "redirect_url"
    case remoteIP = "remote_ip"
    case remotePort = "remote_port"
    case responseCode = "response_code"
    case retries = "num_retries"
    case scheme
    case sizeDownload = "size_download"
    case sizeHeader = "size_header"
    case sizeRequest = "size_request"
    case sizeUpload = "size_upload"
    case speedDownload = "speed_download"
    case speedUpload = "speed_upload"
    case verifyResult = "ssl_verify_result"
    case timeAppConnect = "time_appconnect"
    case timeConnect = "time_connect"
    case timeNameLookup = "time_namelookup"
    case timePreTransfer = "time_pretransfer"
    case timeRedirect = "time_redirect"
    case timeStartTransfer = "time_starttransfer"
    case timeTotal = "time_total"
    case urlNumber = "urlnum"
    case url
    case urlEffective = "url_effective"

    init?(_ name: String) { self.init(rawValue: name) }

    /// The value of a variable, for text and JSON.
    enum Value: Hashable, Sendable, Encodable {
        case string(String)
        /// No value: empty as text, null in JSON.
        case absent
        case number(Int64)
        /// An HTTP status; three digits as text.
        case code(Int)
        case seconds(Duration)
        case document(String)

        var text: String {
            switch self {
            case .string(let text), .document(let text): text
            case .absent: ""
            case .number(let number): "\(number)"
            case .code(let code): String(repeating: "0", count: max(0, 3 - "\(code)".count)) + "\(code)"
            case .seconds(let duration): Self.decimal(duration)
            }
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            switch self {
            case .string(let text), .document(let text): try container.encode(text)
            case .absent: try container.encodeNil()
            case .number(let number): try container.encode(number)
            case .code(let code): try container.encode(code)
            case .seconds(let duration): try container.encode((duration.seconds * 1e6).rounded() / 1e6)
            }
        }

        /// Formats seconds with six decimals, as curl does.
        private static func decimal(_ duration: Duration) -> String {
            let microseconds = Int64(clamping: duration.seconds * 1e6)
            let fraction = "\(microseconds % 1_000_000)"
            return "\(microseconds / 1_000_000)." + String(repeating: "0", count: 6 - fraction.count) + fraction
        }
    }

    /// Returns the value for a transfer.
    func value(_ record: TransferRecord) -> Value {
        let hop = record.lastHop
        switch self {
        case .contentType: return hop?.response.headerFields[.contentType].map(Value.string) ?? .absent
        case .errorMessage: return record.failure.map { .string($0.message) } ?? .absent
        case .exitCode: return .number(Int64(record.status.rawValue))
        case .fileName:
            if case .file(let path) = record.transfer.output { return .string(path) }
            return .absent
        case .headerJSON: return .document(Self.headerJSON(hop?.response.headerFields ?? [:]))
        case .httpCode, .responseCode: return .code(hop?.status.code ?? 0)
        case .httpConnect: return .code(Self.connectCode(record))
        // curl writes HTTP versions without ".0".
        case .httpVersion: return .string(hop.map { $0.httpVersion == "1.0" ? "1" : $0.httpVersion } ?? "0")
        case .json: return .document(Self.json(record))
        case .localIP: return hop?.localEndpoint.map { .string("\($0.address)") } ?? .absent
        case .localPort: return .number(Int64(hop?.localEndpoint?.port ?? 0))
        case .method: return .string((hop?.method ?? record.transfer.request.method).rawValue)
        case .connects: return .number(Int64(record.hops.count { !$0.isReused }))
        case .headers: return .number(Int64(hop?.response.headerFields.count ?? 0))
        case .redirects: return .number(Int64(record.hops.dropLast().count { $0.status.kind == .redirection }))
        case .referer:
            return (record.lastHop?.request ?? record.transfer.request).headerFields[.referer].map(Value.string)
                ?? .absent
        case .redirectURL: return Self.redirectURL(hop)
        case .remoteIP: return hop.map { .string("\($0.endpoint.address)") } ?? .absent
        case .remotePort: return .number(Int64(hop?.endpoint.port ?? 0))
        case .retries: return .number(Int64(record.retries))
        case .scheme: return .string(record.url.origin.scheme.name.uppercased())
        case .sizeDownload: return .number(record.received)
        case .sizeHeader: return .number(Int64(record.headBytes))
        case .sizeRequest:
            return .number(record.hops.reduce(record.sent) { $0 + Int64(RequestHeadSize($1).size) })
        case .sizeUpload: return .number(record.sent)
        case .speedDownload: return .number(Self.speed(record.received, record.total))
        case .speedUpload: return .number(Self.speed(record.sent, record.total))
        case .verifyResult: return .number(Self.verifyResult(record))
        case .timeAppConnect: return .seconds(record.phases?.secured ?? .zero)
        case .timeConnect: return .seconds(record.phases?.connected ?? .zero)
        case .timeNameLookup: return .seconds(record.phases?.resolved ?? .zero)
        case .timePreTransfer: return .seconds(record.phases?.ready ?? .zero)
        case .timeRedirect: return .seconds(record.phases?.redirects ?? .zero)
        case .timeStartTransfer: return .seconds(record.phases?.firstByte ?? .zero)
        case .timeTotal: return .seconds(record.total)
        case .urlNumber: return .number(Int64(record.transfer.number))
        case .url: return .string("\(record.transfer.url)")
        case .urlEffective: return .string("\(record.url)")
        }
    }

    /// Returns the redirect target that `-L` would follow.
    private static func redirectURL(_ hop: Hop?) -> Value {
        guard let hop, (300..<400).contains(hop.status.code), let location = hop.response.headerFields[.location],
            let url = try? hop.url.resolving(location)
        else { return .absent }
        return .string("\(url)")
    }

    /// Returns the proxy's status for CONNECT; 0 without a CONNECT, also on a reused tunnel.
    private static func connectCode(_ record: TransferRecord) -> Int {
        if let refusal = record.error?.underlyingError as? DirectHTTPError, refusal.code == .proxyRefused {
            return refusal.response?.status.code ?? 0
        }
        guard let hop = record.lastHop, !hop.isReused, hop.proxy?.kind == .http, hop.url.origin.scheme.isSecure else {
            return 0
        }
        return 200
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

    private static func headerJSON(_ fields: HTTPFields) -> String {
        var values: [String: [String]] = [:]
        for field in fields { values[field.name.canonicalName, default: []].append(field.value) }
        return JSONOutput.line(values)
    }

    /// Returns all variables except those that are JSON documents.
    private static func json(_ record: TransferRecord) -> String {
        var values: [String: Value] = [:]
        for variable in allCases where variable != .json && variable != .headerJSON {
            values[variable.rawValue] = variable.value(record)
        }
        return JSONOutput.line(values)
    }
}
