// SPDX-License-Identifier: Apache-2.0

import Beeline

/// One try at one endpoint, in a report.
struct AttemptReport: Encodable {
    var endpoint: String
    /// `connected`, `failed` or `abandoned`.
    var outcome: String
    /// Why it failed, for programs and for people; null where it did not.
    @OrNull var code: String?
    @OrNull var reason: String?
    /// When it began, counted from the start of the dial.
    var startMS: Double
    /// How long TCP and TLS took; null where it did not come to that.
    @OrNull var connectMS: Double?
    @OrNull var tlsMS: Double?

    init(_ attempt: Attempt) {
        endpoint = "\(attempt.endpoint)"
        switch attempt.outcome {
        case .connected: outcome = "connected"
        case .abandoned: outcome = "abandoned"
        case .failed(let code, let reason):
            outcome = "failed"
            self.code = code.description
            self.reason = reason.singleLine
        }
        startMS = VerboseLog.milliseconds(attempt.start)
        connectMS = attempt.connect.map(VerboseLog.milliseconds)
        tlsMS = attempt.handshake.map(VerboseLog.milliseconds)
    }

    private enum CodingKeys: String, CodingKey {
        case endpoint, outcome, code, reason
        case startMS = "start_ms"
        case connectMS = "connect_ms"
        case tlsMS = "tls_ms"
    }
}

/// How a name's addresses were known, in a report.
struct ResolutionReport: Encodable {
    /// `fresh`, `cached`, `stale`, `system`, `fixed`, `literal`, or `pinned` by `--resolve`.
    var source: String
    /// Who said it; null where nobody was asked.
    @OrNull var upstream: String?
    /// How long ago; null where nobody was asked.
    @OrNull var ageMS: Double?
    /// For how long it may still be used; null where that is for ever.
    @OrNull var ttlMS: Double?
    /// All of them, in the order to try them.
    var addresses: [String]
    /// Who was asked before in vain.
    var failures: [FailedUpstreamReport]

    init(_ resolution: Resolution?) {
        source = resolution?.source.description ?? "pinned"
        let isSaid = resolution.map { $0.source != .literal } ?? false
        upstream = isSaid ? resolution?.upstream : nil
        ageMS = isSaid ? resolution.map { VerboseLog.milliseconds($0.age) } : nil
        ttlMS = isSaid ? resolution.map { VerboseLog.milliseconds($0.ttl) } : nil
        addresses = resolution?.addresses.map(\.description) ?? []
        failures = resolution?.failures.map(FailedUpstreamReport.init) ?? []
    }

    private enum CodingKeys: String, CodingKey {
        case source, upstream, addresses, failures
        case ageMS = "age_ms"
        case ttlMS = "ttl_ms"
    }
}

/// An upstream that gave no answer, in a report.
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
