// SPDX-License-Identifier: Apache-2.0

import Beeline

/// A variable of `-w`, with curl's name. The cases are in the order of `%{json}`.
enum WriteOutVariable: String, CaseIterable {
    case certificates = "certs"
    case connectionID = "conn_id"
    case contentType = "content_type"
    case errorMessage = "errormsg"
    case exitCode = "exitcode"
    case fileName = "filename_effective"
    case entryPath = "ftp_entry_path"
    case httpCode = "http_code"
    case httpConnect = "http_connect"
    case httpVersion = "http_version"
    case localIP = "local_ip"
    case localPort = "local_port"
    case method
    case certificateCount = "num_certs"
    case connects = "num_connects"
    case headers = "num_headers"
    case redirects = "num_redirects"
    case retries = "num_retries"
    case proxyVerifyResult = "proxy_ssl_verify_result"
    case proxyUsed = "proxy_used"
    case redirectURL = "redirect_url"
    case referer
    case remoteIP = "remote_ip"
    case remotePort = "remote_port"
    case responseCode = "response_code"
    case scheme
    case sizeDelivered = "size_delivered"
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
    case timePostTransfer = "time_posttransfer"
    case timePreTransfer = "time_pretransfer"
    case timeQueue = "time_queue"
    case timeRedirect = "time_redirect"
    case timeStartTransfer = "time_starttransfer"
    case timeTotal = "time_total"
    case earlyData = "tls_earlydata"
    case url
    case urlFragment = "url.fragment"
    case urlHost = "url.host"
    case urlOptions = "url.options"
    case urlPassword = "url.password"
    case urlPath = "url.path"
    case urlPort = "url.port"
    case urlQuery = "url.query"
    case urlScheme = "url.scheme"
    case urlUser = "url.user"
    case urlZone = "url.zoneid"
    case urlEffective = "url_effective"
    case lastFragment = "urle.fragment"
    case lastHost = "urle.host"
    case lastOptions = "urle.options"
    case lastPassword = "urle.password"
    case lastPath = "urle.path"
    case lastPort = "urle.port"
    case lastQuery = "urle.query"
    case lastScheme = "urle.scheme"
    case lastUser = "urle.user"
    case lastZone = "urle.zoneid"
    case urlNumber = "urlnum"
    case transferID = "xfer_id"

    /// The value of a variable, for text and JSON.
    enum Value: Hashable, Sendable {
        case string(String)
        /// No value: empty in text, null in JSON.
        case absent
        case number(Int64)
        /// An HTTP status; three digits in text.
        case code(Int)
        case seconds(Duration)

        init(_ text: String?) { self = text.map(Value.string) ?? .absent }

        var text: String {
            switch self {
            case .string(let text): text
            case .absent: ""
            case .number(let number): "\(number)"
            case .code(let code): "\(code)".leftPadded(to: 3)
            case .seconds(let duration): Self.decimal(duration)
            }
        }

        var json: String {
            switch self {
            case .string(let text): CurlJSON.string(text)
            case .absent: "null"
            case .code(let code): "\(code)"
            case .number, .seconds: text
            }
        }

        /// Formats seconds with six decimals, as curl does.
        private static func decimal(_ duration: Duration) -> String {
            let microseconds = Int64(clamping: duration.seconds * 1e6)
            return "\(microseconds / 1_000_000)." + "\(microseconds % 1_000_000)".leftPadded(to: 6)
        }
    }

    /// Returns all variables as one JSON object, and the version of the program.
    static func json(_ record: TransferRecord) -> String {
        let values = allCases.map { "\"\($0.rawValue)\":\($0.value(record).json)" }
        return "{" + values.joined(separator: ",") + ",\"curl_version\":\"beeline \(BeelineClient.version)\"}"
    }
}
