// SPDX-License-Identifier: Apache-2.0

import Beeline

/// The findings of `doctor` about an origin: the answer of each upstream and the result for each address.
struct Diagnosis: Sendable {
    /// The examined origin.
    let origin: Origin
    /// The upstreams' answers in the order of the queries; the system's resolver is last.
    var answers: [UpstreamAnswer] = []
    /// The result for each address. Addresses that only HTTPS records have come first, then the others in the order of
    /// the upstreams' answers.
    var places: [Place] = []
    /// The conclusion from all findings.
    var verdict = Verdict()

    /// The answer of one upstream.
    struct UpstreamAnswer: Sendable {
        let upstream: String
        let kind: UpstreamKind
        let time: Duration
        var addresses: [IPAddress] = []
        /// The TTLs in the order of ``addresses``; nil where the upstream gives none.
        var ttls: [Duration?] = []
        /// The reason for an empty answer: an error code and a one-line message.
        var failure: (code: String, message: String)?

        init(_ report: HTTPDNS.UpstreamReport, families: Families, host: Host) {
            upstream = report.upstream
            kind = report.kind
            time = report.time
            switch report.result {
            case .success(let answer):
                for family in families.members {
                    guard let records = answer[family] else { continue }
                    addresses += records.addresses
                    ttls += records.addresses.map { _ in records.ttl }
                }
                guard addresses.isEmpty else { return }
                failure =
                    answer.deniesName(for: families)
                    ? ("noSuchName", "\(host) does not exist") : ("noAddress", "\(host) has no address")
            case .failure(let error):
                failure = (error.code.description, error.message)
            }
        }
    }

    /// The result of dialling one address for the origin.
    struct Place: Sendable {
        /// The outcome of the request.
        enum Outcome: Hashable, Sendable {
            /// A response arrived, with this status and protocol.
            case serves(status: Int, version: String)
            /// No response arrived.
            case failed(DirectHTTPError.Code, String)
        }

        let endpoint: Endpoint
        /// The upstreams that named the address, or the HTTPS record.
        let namedBy: [String]
        /// Whether an HTTPS record leads to the endpoint. Requests then dial it first.
        var isOfRecord = false
        /// The start of the dial, relative to the first dial.
        var start = Duration.zero
        /// The duration of the TCP connect; nil if it failed.
        var connect: Duration?
        /// The duration of the TLS handshake; nil if it did not complete.
        var handshake: Duration?
        /// The time from the request to the first byte of the response; nil if none arrived.
        var firstByte: Duration?
        /// The time from the start of the dial to the end of the exchange.
        var total = Duration.zero
        var outcome = Outcome.failed(.cancelled, "was not dialled")
        /// Whether a lost connection ended without an error of the socket or of TLS.
        var isClosedInOrder = true
        /// The outcome of Encrypted Client Hello; nil without TLS, and if no handshake was completed.
        var ech: ECHFinding?
        /// The certificate of the server, accepted or not; nil if it showed none.
        var certificate: CertificateFacts?

        /// Whether an authenticated response arrived.
        var serves: Bool {
            if case .serves = outcome { true } else { false }
        }
        /// Whether the server's certificate was rejected.
        var hasRejectedCertificate: Bool {
            if case .failed(.certificateRejected, _) = outcome { true } else { false }
        }
    }

    /// The finding about Encrypted Client Hello at one address.
    enum ECHFinding: Hashable, Sendable {
        /// The handshake succeeded, with or without ECH.
        case outcome(ECHOutcome)
        /// The handshake succeeded without ECH, for this reason.
        case notOffered(NoECH)
        /// The handshake with ECH failed, for this reason, and one without ECH succeeded.
        case broken(String, publicName: String)
    }

    /// The reason why a handshake had no ECH.
    enum NoECH: Hashable, Sendable {
        /// The settings turn it off.
        case off
        /// No upstream was asked for HTTPS records.
        case notAsked
        /// The upstreams returned no configuration of the site.
        case nonePublished
        /// The records with a configuration do not lead to the address.
        case elsewhere
        /// The settings do not allow the configuration of the record, or it is malformed.
        case unusable
    }

    /// Returns the results for the addresses of an upstream's answer.
    func places(of answer: UpstreamAnswer) -> [Place] {
        places.filter { answer.addresses.contains($0.endpoint.address) }
    }
}

/// The facts in a server's certificate.
struct CertificateFacts: Hashable, Sendable {
    /// The DNS names and IP addresses of the certificate.
    var names: [String]
    var issuer: String
    /// Seconds since 1970.
    var validFrom: Int64
    var validUntil: Int64
    /// Whether the origin's host is among the names.
    var isForHost: Bool
    /// The time of the examination in seconds since 1970.
    var seenAt: Int64

    /// Whole days until the certificate expires; negative after that.
    var daysLeft: Int64 { Int64(clamping: (Double(validUntil - seenAt) / 86_400).rounded(.down)) }
    var isExpired: Bool { seenAt > validUntil }
    var isNotYetValid: Bool { seenAt < validFrom }

    /// The reason for rejecting the certificate.
    var fault: String {
        if !isForHost { return "is for \(names.prefix(4).joined(separator: ", "))" }
        if isExpired { return "expired \(-daysLeft == 1 ? "a day" : "\(-daysLeft) days") ago" }
        if isNotYetValid { return "is not valid yet" }
        return "was issued by \(issuer), which is not a trusted issuer"
    }

    /// The remedy if the certificate was rejected although it names the host.
    var remedy: String {
        if isExpired { return "Its owner must renew it." }
        if isNotYetValid { return "The clock of this machine or of the server is wrong." }
        return "The server omits an intermediate certificate, or its CA must be trusted first (--cacert)."
    }
}
