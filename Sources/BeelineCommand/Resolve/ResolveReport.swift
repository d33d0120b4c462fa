// SPDX-License-Identifier: Apache-2.0

import Beeline

/// The JSON of `beeline resolve --json`. Its field names stay within a major version.
struct ResolveReport: Encodable {
    var hosts: [HostReport]

    init(_ results: [[NameAnswer]], _ hosts: [Host]) {
        self.hosts = zip(hosts, results).map { HostReport($0, $1) }
    }

    /// A name and what was said of it; one answer, or with `--all` one of each upstream.
    struct HostReport: Encodable {
        var host: String
        var answers: [AnswerReport]

        init(_ host: Host, _ answers: [NameAnswer]) {
            self.host = host.text
            self.answers = answers.map(AnswerReport.init)
        }
    }

    struct AnswerReport: Encodable {
        /// `fresh`, `cached`, `stale`, `system`, `fixed` or `literal`; null where there is an error.
        @OrNull var source: String?
        /// Who said it; null where nobody was asked, or nobody answered.
        @OrNull var upstream: String?
        var addresses: [AddressReport]
        @OrNull var ageMS: Double?
        /// How long the upstream took; null but with `--all`.
        @OrNull var timeMS: Double?
        /// The network in which it was said; null where it is not known.
        @OrNull var network: String?
        /// The upstreams that were asked before in vain.
        var failures: [FailedUpstreamReport]
        @OrNull var error: FailureReport?

        init(_ answer: NameAnswer) {
            source = answer.source?.description
            upstream = answer.upstream
            addresses = zip(answer.addresses, answer.ttls).map(AddressReport.init)
            ageMS = answer.source.map { _ in VerboseLog.milliseconds(answer.age) }
            timeMS = answer.time.map(VerboseLog.milliseconds)
            network = answer.network
            failures = answer.failures.map(FailedUpstreamReport.init)
            error = answer.error.map {
                FailureReport(
                    code: $0.code,
                    message: $0.message.singleLine,
                    upstreams: $0.upstreams.map(FailedUpstreamReport.init)
                )
            }
        }

        private enum CodingKeys: String, CodingKey {
            case source, upstream, addresses, network, failures, error
            case ageMS = "age_ms"
            case timeMS = "time_ms"
        }
    }

    struct FailureReport: Encodable {
        var code: String
        var message: String
        var upstreams: [FailedUpstreamReport]
    }
}
