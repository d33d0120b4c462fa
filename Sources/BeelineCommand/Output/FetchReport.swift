// SPDX-License-Identifier: Apache-2.0

import Beeline

/// The JSON of `--report`: how a transfer went, hop by hop. Its field names stay within a major version; no cookie value,
/// credential or body is in it.
struct FetchReport: Encodable {
    /// The URL that was asked first.
    var url: String
    /// The URL that answered.
    var finalURL: String
    /// The response's status; null where none came.
    @OrNull var status: Int?
    /// The exit code.
    var exit: Int32
    @OrNull var error: Failure?
    var hops: [HopReport]
    var bytesReceived: Int64
    var bytesSent: Int64
    var retries: Int
    var totalMS: Double

    init(_ record: TransferRecord) {
        url = "\(record.transfer.url)"
        finalURL = "\(record.url)"
        status = record.lastHop?.status.code
        exit = record.status.rawValue
        error = record.failure.map { Failure($0, record.error) }
        hops = record.hops.enumerated().map { index, hop in
            HopReport(hop, bodyTime: index == record.hops.count - 1 ? record.bodyTime : nil)
        }
        bytesReceived = record.received
        bytesSent = record.sent
        retries = record.retries
        totalMS = VerboseLog.milliseconds(record.total)
    }

    private enum CodingKeys: String, CodingKey {
        case url, status, exit, error, hops, retries
        case finalURL = "final_url"
        case bytesReceived = "bytes_received"
        case bytesSent = "bytes_sent"
        case totalMS = "total_ms"
    }

    /// Why the last hop brought no response, or its body no end.
    struct Failure: Encodable {
        /// The library's name for it; null where the fault was not in an exchange.
        @OrNull var code: String?
        var message: String
        /// Every endpoint that was tried.
        var attempts: [AttemptReport]
        /// What each upstream that was asked in vain said.
        var upstreams: [UpstreamReport]

        init(_ failure: CommandFailure, _ error: BeelineError?) {
            code = error?.code.description
            message = failure.message
            attempts = error?.attempts.map(AttemptReport.init) ?? []
            upstreams = (error?.underlyingError as? ResolutionError)?.failures.map(UpstreamReport.init) ?? []
        }
    }
}

/// A hop in a report.
struct HopReport: Encodable {
    var url: String
    var origin: String
    var method: String
    var status: Int
    /// `http/1.1` or `h2`.
    var `protocol`: String
    /// Where the socket goes.
    var endpoint: String
    /// Whether the connection had served an earlier request.
    var reused: Bool
    /// The proxy that carried it; null: none did.
    @OrNull var proxy: String?
    /// How the endpoint was known; null through a proxy.
    @OrNull var resolution: ResolutionReport?
    var attempts: [AttemptReport]
    var timingsMS: Timings
    /// The names of the cookies.
    var cookiesSent: [String]
    var cookiesReceived: [ReceivedCookie]

    /// - Parameter bodyTime: from the head to the body's last byte, of the hop that brought the response.
    init(_ hop: Hop, bodyTime: Duration?) {
        url = "\(hop.url)"
        origin = "\(hop.url.origin)"
        method = hop.method.rawValue
        status = hop.status.code
        self.protocol = hop.applicationProtocol
        endpoint = "\(hop.endpoint)"
        reused = hop.isReused
        proxy = hop.proxy.map { "\($0)" }
        resolution = hop.proxy == nil ? ResolutionReport(hop.resolution) : nil
        attempts = hop.attempts.map(AttemptReport.init)
        timingsMS = Timings(hop.timings, bodyTime)
        cookiesSent = hop.cookiesSent
        cookiesReceived = hop.cookiesReceived.map { ReceivedCookie(name: $0.name, outcome: "\($0.outcome)") }
    }

    private enum CodingKeys: String, CodingKey {
        case url, origin, method, status, `protocol`, endpoint, reused, proxy, resolution, attempts
        case timingsMS = "timings_ms"
        case cookiesSent = "cookies_sent"
        case cookiesReceived = "cookies_received"
    }

    /// How long each phase took; null where the connection was there already.
    struct Timings: Encodable {
        @OrNull var resolve: Double?
        @OrNull var connect: Double?
        @OrNull var tls: Double?
        var firstByte: Double
        var total: Double
        /// Null where no body came to its end.
        @OrNull var body: Double?

        init(_ timings: ExchangeTimings, _ bodyTime: Duration?) {
            resolve = timings.resolve.map(VerboseLog.milliseconds)
            connect = timings.connect.map(VerboseLog.milliseconds)
            tls = timings.handshake.map(VerboseLog.milliseconds)
            firstByte = VerboseLog.milliseconds(timings.firstByte)
            total = VerboseLog.milliseconds(timings.total)
            body = bodyTime.map(VerboseLog.milliseconds)
        }

        private enum CodingKeys: String, CodingKey {
            case resolve, connect, tls, total, body
            case firstByte = "first_byte"
        }
    }

    struct ReceivedCookie: Encodable {
        var name: String
        /// `kept`, `replaced`, `deleted` or `rejected: REASON`.
        var outcome: String
    }
}
