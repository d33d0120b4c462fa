// SPDX-License-Identifier: Apache-2.0

import Beeline

/// The JSON of `beeline doctor --json`. Field names are stable within a major version.
struct DoctorReport: Encodable {
    var origin: String
    var host: String
    var answers: [AnswerReport]
    var places: [PlaceReport]
    var verdict: VerdictReport

    init(_ diagnosis: Diagnosis) {
        origin = "\(diagnosis.origin)"
        host = diagnosis.origin.host.text
        answers = diagnosis.answers.map(AnswerReport.init)
        places = diagnosis.places.map(PlaceReport.init)
        verdict = VerdictReport(diagnosis.verdict)
    }

    /// The answer of one upstream.
    struct AnswerReport: Encodable {
        var upstream: String
        /// `service`, `system` or `fixed`.
        var kind: String
        var timeMS: Double
        var addresses: [AddressReport]
        @OrNull var error: FailureReport?

        init(_ answer: Diagnosis.UpstreamAnswer) {
            upstream = answer.upstream
            kind = answer.kind.description
            timeMS = answer.time.milliseconds
            addresses = zip(answer.addresses, answer.ttls).map(AddressReport.init)
            error = answer.failure.map { FailureReport(code: $0.code, message: $0.message.singleLine) }
        }
    }

    struct FailureReport: Encodable {
        var code: String
        var message: String
    }

    /// The result for one address.
    struct PlaceReport: Encodable {
        var endpoint: String
        var namedBy: [String]
        var serves: Bool
        @OrNull var status: Int?
        @OrNull var `protocol`: String?
        @OrNull var error: FailureReport?
        var startMS: Double
        @OrNull var connectMS: Double?
        @OrNull var tlsMS: Double?
        @OrNull var firstByteMS: Double?
        var totalMS: Double
        /// `not offered`, `accepted`, `rejected` or `broken`; null without a handshake.
        @OrNull var ech: String?
        @OrNull var echPublicName: String?
        @OrNull var certificate: CertificateReport?

        init(_ place: Diagnosis.Place) {
            endpoint = "\(place.endpoint)"
            namedBy = place.namedBy
            serves = place.serves
            switch place.outcome {
            case .serves(let status, let version):
                self.status = status
                self.protocol = version
            case .failed(let code, let reason):
                error = FailureReport(code: code.description, message: reason.singleLine)
            }
            startMS = place.start.milliseconds
            connectMS = place.connect.map(\.milliseconds)
            tlsMS = place.handshake.map(\.milliseconds)
            firstByteMS = place.firstByte.map(\.milliseconds)
            totalMS = place.total.milliseconds
            switch place.ech {
            case .outcome(let outcome)?:
                ech = outcome.description
                echPublicName = outcome.publicName
            case .notOffered?: ech = ECHOutcome.notOffered.description
            case .broken(_, let name)?:
                ech = "broken"
                echPublicName = name
            case nil: break
            }
            certificate = place.certificate.map(CertificateReport.init)
        }
    }

    /// The certificate of a server.
    struct CertificateReport: Encodable {
        var names: [String]
        var issuer: String
        /// Seconds since 1970.
        var validFrom: Int64
        var validUntil: Int64
        var daysLeft: Int64
        var isForHost: Bool

        init(_ facts: CertificateFacts) {
            names = facts.names
            issuer = facts.issuer
            validFrom = facts.validFrom
            validUntil = facts.validUntil
            daysLeft = facts.daysLeft
            isForHost = facts.isForHost
        }
    }

    struct VerdictReport: Encodable {
        /// `well`, `attention` or `broken`.
        var level: String
        var headline: String
        var findings: [String]
        var exit: Int32

        init(_ verdict: Verdict) {
            level = verdict.level.rawValue
            headline = verdict.headline.singleLine
            findings = verdict.findings.map(\.singleLine)
            exit = verdict.status.rawValue
        }
    }
}
