// SPDX-License-Identifier: Apache-2.0

import Beeline

// Parts of the reports.

/// One connection attempt in a report.
struct AttemptReport: Encodable {
    var endpoint: String
    /// `connected`, `failed` or `abandoned`.
    var outcome: String
    /// The error code and message; null unless the attempt failed.
    @OrNull var code: String?
    @OrNull var reason: String?
    /// The start of the attempt, relative to the start of the dial.
    var startMS: Double
    /// The durations of TCP connect and TLS handshake; null if not reached.
    @OrNull var connectMS: Double?
    @OrNull var tlsMS: Double?

    init(_ attempt: Attempt) {
        endpoint = attempt.socketPath ?? "\(attempt.endpoint)"
        switch attempt.outcome {
        case .connected: outcome = "connected"
        case .abandoned: outcome = "abandoned"
        case .failed(let code, let reason):
            outcome = "failed"
            self.code = code.description
            self.reason = reason.singleLine
        }
        startMS = attempt.start.milliseconds
        connectMS = attempt.connect.map(\.milliseconds)
        tlsMS = attempt.handshake.map(\.milliseconds)
    }
}

/// The resolution of a host in a report.
struct ResolutionReport: Encodable {
    /// `fresh`, `cached`, `stale`, `system`, `fixed`, `literal`, or `pinned` by `--resolve`.
    var source: String
    /// The upstream that answered; null if none was queried.
    @OrNull var upstream: String?
    /// The age of the answer; null if no upstream was queried.
    @OrNull var ageMS: Double?
    /// The remaining TTL; null if the answer does not expire.
    @OrNull var ttlMS: Double?
    /// All addresses in the order of attempts.
    var addresses: [String]
    /// The upstreams that failed before the answer.
    var failures: [FailedUpstreamReport]

    init(_ resolution: Resolution?) {
        source = resolution?.source.description ?? "pinned"
        let answer = resolution.flatMap { $0.source == .literal ? nil : $0 }
        upstream = answer?.upstream
        ageMS = answer.map { $0.age.milliseconds }
        ttlMS = answer.map { $0.ttl.milliseconds }
        addresses = resolution?.addresses.map(\.description) ?? []
        failures = resolution?.failures.map(FailedUpstreamReport.init) ?? []
    }
}

/// A failed upstream in a report.
struct FailedUpstreamReport: Encodable {
    var upstream: String
    var code: String
    var message: String

    init(_ failure: ResolutionError.Failure) {
        upstream = failure.upstream
        code = failure.error.code.description
        message = failure.error.message.singleLine
    }
}

/// An address in the JSON of `resolve` and `doctor`.
struct AddressReport: Encodable {
    var address: String
    /// In seconds; null if the upstream gives no TTL or it does not expire.
    @OrNull var ttl: Int64?

    init(_ address: IPAddress, _ ttl: Duration?) {
        self.address = "\(address)"
        self.ttl = ttl?.wholeSeconds
    }
}
