// SPDX-License-Identifier: Apache-2.0

import Beeline

/// What `doctor` found out about an origin: who says what of its name, and what each address does.
struct Diagnosis: Sendable {
    /// What was examined.
    let origin: Origin
    /// What each upstream says, in the order in which they are asked, the system last.
    var opinions: [Opinion] = []
    /// What each address does that anybody named, in the order in which they were named.
    var places: [Place] = []
    /// From the start of the examination to the start of dialling.
    var asking = Duration.zero
    /// What to make of it.
    var verdict = Verdict()

    /// What one upstream says.
    struct Opinion: Sendable {
        let upstream: String
        let kind: UpstreamKind
        let time: Duration
        var addresses: [IPAddress] = []
        /// In the order of ``addresses``; nil where the upstream does not say how long.
        var ttls: [Duration?] = []
        /// Why there is no address: one line, and a code for programs.
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
                let isNoName = families.members.contains {
                    if case .absent(.noName, _) = answer[$0] { true } else { false }
                }
                failure =
                    isNoName ? ("noSuchName", "there is no name \(host)") : ("noAddress", "\(host) has no address")
            case .failure(let error):
                failure = (error.code.description, error.message)
            }
        }
    }

    /// What one address does when it is dialled for the origin.
    struct Place: Sendable {
        /// How it ended.
        enum Outcome: Hashable, Sendable {
            /// A response came; its status and protocol.
            case serves(status: Int, version: String)
            /// None came.
            case failed(DirectHTTPError.Code, String)
        }

        let endpoint: Endpoint
        /// Who named it.
        let saidBy: [String]
        /// When it was dialled, from the start of dialling.
        var start = Duration.zero
        /// How long TCP took; nil where no connection came to be.
        var connect: Duration?
        /// How long TLS took; nil where it did not come to its end.
        var handshake: Duration?
        /// From the request to the first byte of the response; nil where none came.
        var firstByte: Duration?
        /// From the dial to the end of all that.
        var total = Duration.zero
        var outcome = Outcome.failed(.cancelled, "was not dialled")
        /// What it showed, taken or not; nil where it showed none.
        var certificate: CertificateFacts?

        /// Whether a response came, from who it should be.
        var serves: Bool {
            if case .serves = outcome { true } else { false }
        }
        /// Whether it showed a certificate that was refused.
        var isImpostor: Bool {
            if case .failed(.certificateRejected, _) = outcome { true } else { false }
        }
    }

    /// The places that an upstream named.
    func places(of opinion: Opinion) -> [Place] {
        places.filter { opinion.addresses.contains($0.endpoint.address) }
    }
}

/// What a server's certificate says of itself.
struct CertificateFacts: Hashable, Sendable {
    /// The names and addresses that it is for.
    var names: [String]
    var issuer: String
    /// Seconds since 1970.
    var validFrom: Int64
    var validUntil: Int64
    /// Whether the origin's host is among the names.
    var isForHost: Bool
    /// Seconds since 1970, when it was looked at.
    var seenAt: Int64

    /// Days until it ends, whole ones; negative where it has.
    var daysLeft: Int64 { (Double(validUntil - seenAt) / 86_400).rounded(.down).whole }
    var isExpired: Bool { seenAt > validUntil }
    var isNotYetValid: Bool { seenAt < validFrom }

    /// What is wrong with it, where it was refused.
    var fault: String {
        if !isForHost { return "is for \(names.prefix(4).joined(separator: ", "))" }
        if isExpired { return "ended \(-daysLeft == 1 ? "a day" : "\(-daysLeft) days") ago" }
        if isNotYetValid { return "is not valid yet" }
        return "was issued by \(issuer), whom nobody trusted vouches for"
    }

    /// What helps where it is for the host and was refused.
    var remedy: String {
        if isExpired { return "Its owner must renew it." }
        if isNotYetValid { return "A clock is wrong, here or there." }
        return "The server leaves certificates out, or its authority must be trusted first (--cacert)."
    }
}

extension Double {
    /// As a whole number, as near as 64 bits can hold it.
    fileprivate var whole: Int64 { Int64(clamping: self) }
}
