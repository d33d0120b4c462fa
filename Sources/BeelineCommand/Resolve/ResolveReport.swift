// SPDX-License-Identifier: Apache-2.0

import Beeline
import Names

/// The JSON of `beeline resolve --json`. Field names are stable within a major version.
struct ResolveReport: Encodable {
    var hosts: [HostReport]

    init(_ results: [[NameAnswer]], _ hosts: [Host]) {
        self.hosts = zip(hosts, results).map { HostReport($0, $1) }
    }

    /// A host with one answer, or with `--all` the answer of each upstream.
    struct HostReport: Encodable {
        var host: String
        var answers: [AnswerReport]

        init(_ host: Host, _ answers: [NameAnswer]) {
            self.host = host.text
            self.answers = answers.map(AnswerReport.init)
        }
    }

    struct AnswerReport: Encodable {
        /// `fresh`, `cached`, `stale`, `system`, `fixed` or `literal`; null with an error.
        @OrNull var source: String?
        /// The upstream; null if none was queried or none answered.
        @OrNull var upstream: String?
        var addresses: [AddressReport]
        /// The HTTPS records, in the order of their priority.
        var services: [ServiceReport]
        @OrNull var ageMS: Double?
        /// The upstream's response time; null without `--all`.
        @OrNull var timeMS: Double?
        /// The network of the answer; null if unknown.
        @OrNull var network: String?
        /// The upstreams that failed before the answer.
        var failures: [FailedUpstreamReport]
        @OrNull var error: FailureReport?

        init(_ answer: NameAnswer) {
            source = answer.source?.description
            upstream = answer.upstream
            addresses = zip(answer.addresses, answer.ttls).map(AddressReport.init)
            services = answer.services.map(ServiceReport.init)
            ageMS = answer.source.map { _ in answer.age.milliseconds }
            timeMS = answer.time.map(\.milliseconds)
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
    }

    /// An HTTPS record (RFC 9460).
    struct ServiceReport: Encodable {
        /// 0 for an alias.
        var priority: UInt16
        /// The host; `.` for the name itself.
        var target: String
        var alpn: [String]
        /// Null: the origin's port.
        @OrNull var port: UInt16?
        /// The addresses of `ipv4hint` and `ipv6hint`.
        var hints: [String]
        /// The ECHConfigList in base64.
        @OrNull var ech: String?
        /// The record in the format of master files.
        var record: String

        init(_ record: HTTPSRecord) {
            priority = record.priority
            target = record.target
            alpn = record.applicationProtocols
            port = record.port
            hints = record.hints.map(\.description)
            ech = record.echConfigList.map { Base64.encode($0) }
            self.record = record.description
        }
    }

    struct FailureReport: Encodable {
        var code: String
        var message: String
        var upstreams: [FailedUpstreamReport]
    }
}
