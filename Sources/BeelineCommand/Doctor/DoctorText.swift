// SPDX-License-Identifier: Apache-2.0

import Beeline

/// Renders a diagnosis as text for a terminal.
struct DoctorText {
    private let diagnosis: Diagnosis

    init(_ diagnosis: Diagnosis) { self.diagnosis = diagnosis }

    /// The whole text. Control characters from upstreams and certificates are replaced.
    var text: String {
        let verdict = diagnosis.verdict
        var lines = ["\(diagnosis.origin)", ""]
        if !diagnosis.answers.isEmpty { lines += ["Answers"] + diagnosis.answers.flatMap(answer) + [""] }
        if !diagnosis.places.isEmpty {
            lines += ["Addresses"] + diagnosis.places.flatMap(place) + [""]
        }
        lines.append(verdict.headline)
        lines += verdict.findings.map { "- \($0)" }
        return lines.map { $0.singleLine + "\n" }.joined()
    }

    private func answer(_ answer: Diagnosis.UpstreamAnswer) -> [String] {
        let time = answer.time.millisecondText
        if let failure = answer.failure {
            return ["  \(answer.upstream)  (\(time))", "    no address: \(failure.message)"]
        }
        return ["  \(answer.upstream)  (\(time))"]
            + zip(answer.addresses, answer.ttls).map { address, ttl in
                "    \(address)" + (ttl.map { "  for \($0.wholeSeconds) s" } ?? "")
            }
    }

    private func place(_ place: Diagnosis.Place) -> [String] {
        var lines = ["  \(place.endpoint)  named by \(Verdict.list(place.namedBy))"]
        var steps: [String] = []
        if let time = place.connect { steps.append("TCP \(time.millisecondText)") }
        if let time = place.handshake { steps.append("TLS \(time.millisecondText)") }
        if let time = place.firstByte { steps.append("first byte \(time.millisecondText)") }
        if !steps.isEmpty { lines.append("    " + steps.joined(separator: ", ")) }
        switch place.outcome {
        case .serves(let status, let version): lines.append("    serves: status \(status), \(version)")
        case .failed(_, let reason): lines.append("    fails: \(reason)")
        }
        if let ech = place.ech { lines.append("    ECH \(Self.words(ech))") }
        if let certificate = place.certificate { lines.append("    certificate \(Self.words(certificate))") }
        return lines
    }

    static func words(_ ech: Diagnosis.ECHFinding) -> String {
        switch ech {
        case .outcome(.accepted(let name)): "accepted, with the public name \(name)"
        case .outcome(.rejected(let name)): "turned off by the server, with the public name \(name)"
        case .outcome(.notOffered), .outcome(.grease): "not offered"
        case .notOffered(.off): "not offered: it is turned off"
        case .notOffered(.notAsked): "not offered: no resolver was asked for HTTPS records"
        case .notOffered(.nonePublished): "not offered: no resolver returned a configuration of the site"
        case .notOffered(.elsewhere):
            "not offered: the HTTPS records with an ECH configuration are for other addresses"
        case .notOffered(.unusable):
            "not offered: the settings do not allow the site's configuration, or it is malformed"
        case .broken(_, let name): "fails with the public name \(name); without ECH the address works"
        }
    }

    static func words(_ certificate: CertificateFacts) -> String {
        let names = certificate.names.prefix(6).joined(separator: ", ")
        let more = certificate.names.count > 6 ? " and \(certificate.names.count - 6) more" : ""
        let end = CookieTime(secondsSince1970: Double(certificate.validUntil)).httpDate
        let days = certificate.isExpired ? "expired" : "\(certificate.daysLeft) days left"
        return "for \(names)\(more); by \(certificate.issuer); until \(end), \(days)"
    }
}
