// SPDX-License-Identifier: Apache-2.0

import Beeline

/// The JSON of `--report`: a transfer, hop by hop. Field names are stable within a major version. It contains no cookie values,
/// credentials or bodies.
struct FetchReport: Encodable {
    /// The requested URL.
    var url: String
    /// The URL of the final response.
    var finalURL: String
    /// The HTTP status; null without a response.
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
        url = record.transfer.shownURL
        finalURL = record.effectiveURL
        status = record.lastHop?.status.code
        exit = record.status.rawValue
        error = record.failure.map { Failure($0, record.error) }
        hops = record.hops.enumerated().map { index, hop in
            HopReport(hop, bodyTime: index == record.hops.count - 1 ? record.bodyTime : nil)
        }
        bytesReceived = record.received
        bytesSent = record.sent
        retries = record.retries
        totalMS = record.total.milliseconds
    }

    /// The reason for a missing response or an incomplete body.
    struct Failure: Encodable {
        /// The library's error code; null if the error is not from an exchange.
        @OrNull var code: String?
        var message: String
        /// All attempted endpoints.
        var attempts: [AttemptReport]
        /// The errors of the upstreams that failed.
        var upstreams: [FailedUpstreamReport]

        init(_ failure: CommandFailure, _ error: BeelineError?) {
            code = error?.code.description
            message = failure.message
            attempts = error?.attempts.map(AttemptReport.init) ?? []
            upstreams = (error?.underlyingError as? ResolutionError)?.failures.map(FailedUpstreamReport.init) ?? []
        }
    }
}

/// A hop in a report.
struct HopReport: Encodable {
    var url: String
    var origin: String
    /// Whether HSTS or an HTTPS record replaced `http` in the URL.
    var hstsUpgrade: Bool
    var method: String
    var status: Int
    /// `http/1.1` or `h2`.
    var `protocol`: String
    /// Encrypted Client Hello: `not offered`, `grease`, `accepted` or `rejected`.
    var ech: String
    /// The public name of ECH; null if none was used.
    @OrNull var echPublicName: String?
    /// The remote endpoint of the connection.
    var endpoint: String
    /// Whether the connection was reused.
    var reused: Bool
    /// The proxy of this hop; null for a direct connection.
    @OrNull var proxy: String?
    /// The resolution of the host; null with a proxy.
    @OrNull var resolution: ResolutionReport?
    var attempts: [AttemptReport]
    var timingsMS: Timings
    /// The names of the cookies.
    var cookiesSent: [String]
    var cookiesReceived: [ReceivedCookie]

    /// - Parameter bodyTime: the time from the head to the last byte of the body; nil unless this hop's body was read.
    init(_ hop: Hop, bodyTime: Duration?) {
        url = "\(hop.url)"
        origin = "\(hop.url.origin)"
        hstsUpgrade = hop.isUpgradedToTLS
        method = hop.method.rawValue
        status = hop.status.code
        self.protocol = hop.applicationProtocol
        ech = hop.ech.description
        echPublicName = hop.ech.publicName
        endpoint = hop.socketPath ?? "\(hop.endpoint)"
        reused = hop.isReused
        proxy = hop.proxy.map { "\($0)" }
        resolution = hop.proxy == nil ? ResolutionReport(hop.resolution) : nil
        attempts = hop.attempts.map(AttemptReport.init)
        timingsMS = Timings(hop, bodyTime)
        cookiesSent = hop.cookiesSent
        cookiesReceived = hop.cookiesReceived.map { ReceivedCookie(name: $0.name, outcome: "\($0.outcome)") }
    }

    /// The duration of each phase; null for phases that a reused connection skips.
    struct Timings: Encodable {
        @OrNull var resolve: Double?
        @OrNull var connect: Double?
        @OrNull var tls: Double?
        var firstByte: Double
        var total: Double
        /// Null without a complete body.
        @OrNull var body: Double?

        init(_ hop: Hop, _ bodyTime: Duration?) {
            let timings = hop.timings
            resolve = timings.resolve.map(\.milliseconds)
            connect = timings.connect.map(\.milliseconds)
            tls = hop.tlsTime.map(\.milliseconds)
            firstByte = timings.firstByte.milliseconds
            total = timings.total.milliseconds
            body = bodyTime.map(\.milliseconds)
        }
    }

    struct ReceivedCookie: Encodable {
        var name: String
        /// `kept`, `replaced`, `deleted` or `rejected: REASON`.
        var outcome: String
    }
}
