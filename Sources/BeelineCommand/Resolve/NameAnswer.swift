// SPDX-License-Identifier: Apache-2.0

import Beeline

/// The answer for a host from the resolver or from one upstream: addresses or an error.
struct NameAnswer: Hashable, Sendable {
    struct Failure: Hashable, Sendable {
        var code: String
        var message: String
        /// The errors of the upstreams that failed.
        var upstreams: [ResolutionError.Failure]
    }

    let host: Host
    private(set) var addresses: [IPAddress] = []
    /// The TTL of each address; nil if it does not expire.
    private(set) var ttls: [Duration?] = []
    /// The HTTPS records; empty if there are none, or the upstream carries none.
    private(set) var services: [HTTPSRecord] = []
    /// The age of the answer.
    private(set) var age = Duration.zero
    /// The source, such as `fresh` or `cached`; nil without an answer.
    private(set) var source: Resolution.Source?
    /// The upstream that answered or failed; nil if none was queried.
    private(set) var upstream: String?
    /// The text of the SOURCE column.
    private(set) var sourceText = "-"
    private(set) var error: Failure?
    /// The network of the answer; nil if unknown.
    private(set) var network: String?
    /// The upstreams that failed before the answer.
    private(set) var failures: [ResolutionError.Failure] = []
    /// The response time of an upstream queried alone.
    private(set) var time: Duration?

    /// Makes the answer from a resolution.
    init(_ resolution: Resolution) {
        host = resolution.host
        addresses = resolution.addresses
        let isKept = resolution.source != .literal
        ttls = resolution.addresses.map { _ in isKept ? resolution.ttl : nil }
        services = resolution.httpsRecords
        age = resolution.age
        source = resolution.source
        upstream = isKept ? resolution.upstream : nil
        sourceText = resolution.sourceText
        network = resolution.network.isEmpty ? nil : resolution.network
        failures = resolution.failures
    }

    /// Makes the answer from a failed resolution.
    init(_ host: Host, _ error: ResolutionError) {
        self.host = host
        self.error = Failure(code: error.code.description, message: error.message, upstreams: error.failures)
    }

    /// Makes the answer from one upstream's report.
    init(_ host: Host, report: HTTPDNS.UpstreamReport, settings: ResolverConfiguration) {
        let name = report.upstream
        self.host = host
        upstream = name
        time = report.time
        let answer: Answer
        switch report.result {
        case .success(let said): answer = said
        case .failure(let failure):
            let message = "\(host): \(name): \(failure.message)"
            error = Failure(code: failure.code.description, message: message, upstreams: [])
            return
        }
        sourceText = name
        for family in settings.families.members {
            guard let records = answer[family] else { continue }
            addresses += records.addresses
            ttls += records.addresses.map { _ in records.ttl ?? settings.cache.defaultTTL }
        }
        guard addresses.isEmpty else {
            source = report.kind == .fixed ? .fixed : report.kind == .system ? .system : .fresh
            return
        }
        let isDenied = answer.deniesName(for: settings.families)
        error = Failure(
            code: isDenied ? "noSuchName" : "noAddress",
            message: isDenied ? "\(name): the name \(host) does not exist" : "\(name): \(host) has no address",
            upstreams: []
        )
    }

    /// `HOST ADDRESS TTL SOURCE`, one line for each address; then `HOST HTTPS RECORD`, one line for each HTTPS record. TTL
    /// is in seconds; `-` if it does not expire.
    var lines: [String] {
        let rows = zip(addresses, ttls).map { address, ttl in
            "\(host.text) \(address) \(ttl.map { "\($0.wholeSeconds)" } ?? "-") \(sourceText)"
        }
        return rows + services.map { "\(host.text) HTTPS \($0)" }
    }
}

extension Answer {
    /// Whether the upstream says for one of the families that the name does not exist.
    func deniesName(for families: Families) -> Bool {
        families.members.contains { family in
            if case .absent(.noName, _) = self[family] { true } else { false }
        }
    }
}
