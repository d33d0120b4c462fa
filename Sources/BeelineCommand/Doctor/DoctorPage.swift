// SPDX-License-Identifier: Apache-2.0

import Beeline

/// Renders a diagnosis as a self-contained HTML page without scripts or external resources.
struct DoctorPage {
    private let diagnosis: Diagnosis

    init(_ diagnosis: Diagnosis) { self.diagnosis = diagnosis }

    var text: String {
        let title = Self.escaped("\(diagnosis.origin)")
        return """
            <!doctype html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <meta name="color-scheme" content="light dark">
            <title>\(title) – beeline doctor</title>
            <style>\(DoctorStyle.sheet)</style>
            </head>
            <body>
            <main>
            <h1>\(title)</h1>
            \(verdict)
            \(answers)
            \(timeline)
            \(certificates)
            </main>
            </body>
            </html>

            """
    }

    // MARK: Parts

    private var verdict: String {
        let verdict = diagnosis.verdict
        let findings = verdict.findings.map { "<li>\(Self.escaped($0))</li>" }.joined(separator: "\n")
        let list = findings.isEmpty ? "" : "<ul>\(findings)</ul>"
        return """
            <section class="verdict \(verdict.level.rawValue)">
            <p><strong>\(Self.escaped(verdict.headline))</strong></p>
            \(list)
            </section>
            """
    }

    private var answers: String {
        guard !diagnosis.answers.isEmpty else { return "" }
        let cards = diagnosis.answers.map { answer in
            let rows =
                answer.failure.map { "<p class=\"none\">\(Self.escaped($0.message))</p>" }
                ?? "<ul>" + zip(answer.addresses, answer.ttls).map(address).joined() + "</ul>"
            return """
                <article>
                <h3>\(Self.escaped(answer.upstream))</h3>
                <p class="small">\(answer.time.millisecondText)</p>
                \(rows)
                </article>
                """
        }
        return "<section><h2>Answers</h2><div class=\"cards\">\(cards.joined())</div></section>"
    }

    private func address(_ address: IPAddress, _ ttl: Duration?) -> String {
        let place = diagnosis.places.first { $0.endpoint.address == address }
        let time = ttl.map { " <span class=\"small\">\($0.wholeSeconds) s</span>" } ?? ""
        return "<li>\(Self.mark(place)) <code>\(address)</code>\(time)</li>"
    }

    private var timeline: String {
        guard !diagnosis.places.isEmpty else { return "" }
        let ends = diagnosis.places.map { ($0.start + $0.total).milliseconds }
        let scale = max(ends.max() ?? 0, 1)
        let rows = diagnosis.places.map { row($0, scale) }.joined()
        return """
            <section>
            <h2>Addresses</h2>
            <p class="legend"><span class="tcp">TCP</span> <span class="tls">TLS</span> \
            <span class="wait">first byte</span> <span class="lost">failed</span> \
            <span class="small">full width: \(Duration.milliseconds(Int64(clamping: scale)).millisecondText)</span></p>
            \(rows)
            </section>
            """
    }

    private func row(_ place: Diagnosis.Place, _ scale: Double) -> String {
        var left = place.start.milliseconds
        var bars = ""
        func addBar(_ kind: String, length: Double, title what: String) {
            let (start, width) = (Self.percent(left / scale), Self.percent(length / scale))
            bars += "<i class=\"\(kind)\" style=\"left:\(start);width:\(width)\" title=\"\(what)\"></i>"
            left += length
        }
        let steps = [
            ("tcp", "TCP", place.connect), ("tls", "TLS", place.handshake), ("wait", "first byte", place.firstByte),
        ]
        var words: [String] = []
        for (kind, name, time) in steps {
            guard let time else { continue }
            addBar(kind, length: time.milliseconds, title: "\(name) \(time.millisecondText)")
            words.append("\(name) \(time.millisecondText)")
        }
        let end = (place.start + place.total).milliseconds
        if !place.serves { addBar("lost", length: max(end - left, 0), title: "failed") }
        if let ech = place.ech { words.append("ECH \(DoctorText.words(ech))") }
        let outcome: String
        switch place.outcome {
        case .serves(let status, let version): outcome = "status \(status), \(version)"
        case .failed(_, let reason): outcome = reason
        }
        return """
            <div class="row">
            <h3>\(Self.mark(place)) <code>\(place.endpoint)</code> \
            <span class="small">named by \(Self.escaped(Verdict.list(place.namedBy)))</span></h3>
            <div class="track">\(bars)</div>
            <p>\(Self.escaped((words + [outcome]).joined(separator: " · ")))</p>
            </div>
            """
    }

    private var certificates: String {
        var seen: [(facts: CertificateFacts, places: [Diagnosis.Place])] = []
        for place in diagnosis.places {
            guard let facts = place.certificate else { continue }
            if let index = seen.firstIndex(where: {
                $0.facts.names == facts.names && $0.facts.validUntil == facts.validUntil
            }) {
                seen[index].places.append(place)
            } else {
                seen.append((facts, [place]))
            }
        }
        guard !seen.isEmpty else { return "" }
        let cards = seen.map { facts, places in
            let isRefused = places.contains(where: \.hasRejectedCertificate)
            let end = CookieTime(secondsSince1970: Double(facts.validUntil)).httpDate
            let left = facts.isExpired ? "expired" : "\(facts.daysLeft) days left"
            return """
                <article class="\(isRefused ? "refused" : "")">
                <h3>\(Self.escaped(facts.names.prefix(6).joined(separator: ", ")))</h3>
                <dl>
                <dt>Presented by</dt><dd>\(places.map { "<code>\($0.endpoint)</code>" }.joined(separator: ", "))</dd>
                <dt>Issued by</dt><dd>\(Self.escaped(facts.issuer))</dd>
                <dt>Until</dt><dd>\(end) (\(left))</dd>
                <dt>Verdict</dt><dd>\(Self.escaped(isRefused ? "refused: it \(facts.fault)" : "accepted"))</dd>
                </dl>
                </article>
                """
        }
        return "<section><h2>Certificates</h2><div class=\"cards wide\">\(cards.joined())</div></section>"
    }

    // MARK: Pieces

    /// A symbol with a label, so that the result does not depend on colour alone.
    private static func mark(_ place: Diagnosis.Place?) -> String {
        guard let place else { return "" }
        let (kind, sign, word) =
            place.serves
            ? ("good", "✓", "serves")
            : place.hasRejectedCertificate ? ("bad", "✕", "is refused") : ("dead", "–", "fails")
        return "<span class=\"mark \(kind)\" role=\"img\" aria-label=\"\(word)\">\(sign)</span>"
    }

    private static func percent(_ part: Double) -> String { "\((min(max(part, 0), 1) * 10_000).rounded() / 100)%" }

    /// Escapes text for HTML. Upstreams and certificates are untrusted input.
    static func escaped(_ text: String) -> String {
        var result = ""
        for character in text.singleLine.unicodeScalars {
            switch character {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            case "'": result += "&#39;"
            default: result.unicodeScalars.append(character)
            }
        }
        return result
    }
}
