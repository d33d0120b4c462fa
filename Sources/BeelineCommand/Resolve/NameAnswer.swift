// SPDX-License-Identifier: Apache-2.0

import Beeline

/// What was said of a name, by the resolver or by one upstream: addresses, or why there are none.
struct NameAnswer: Hashable, Sendable {
    struct Failure: Hashable, Sendable {
        var code: String
        var message: String
        /// What the upstreams said that were asked in vain.
        var upstreams: [ResolutionError.Failure]
    }

    let host: Host
    private(set) var addresses: [IPAddress] = []
    /// For how long it may be used, by address; nil: for ever.
    private(set) var ttls: [Duration?] = []
    /// How long ago it was said.
    private(set) var age = Duration.zero
    /// `fresh`, `cached`, …; nil where nobody answered.
    private(set) var source: Resolution.Source?
    /// Who said it, or did not; nil where nobody was asked.
    private(set) var upstream: String?
    /// What stands in the column SOURCE.
    private(set) var sourceText = "-"
    private(set) var error: Failure?
    /// The network in which it was said; nil where it is not known.
    private(set) var network: String?
    /// The upstreams that were asked before it in vain.
    private(set) var failures: [ResolutionError.Failure] = []
    /// How long the upstream took that was asked by itself.
    private(set) var time: Duration?

    /// The resolver's answer.
    init(_ resolution: Resolution) {
        host = resolution.host
        addresses = resolution.addresses
        let isKept = resolution.source != .literal
        ttls = resolution.addresses.map { _ in isKept ? resolution.ttl : nil }
        age = resolution.age
        source = resolution.source
        upstream = isKept ? resolution.upstream : nil
        sourceText = resolution.sourceText
        network = resolution.network.isEmpty ? nil : resolution.network
        failures = resolution.failures
    }

    /// No answer of the resolver.
    init(_ host: Host, _ error: ResolutionError) {
        self.host = host
        self.error = Failure(code: error.code.description, message: error.message, upstreams: error.failures)
    }

    /// What one upstream said, asked by itself.
    init(_ host: Host, _ report: HTTPDNS.UpstreamReport, _ settings: ResolverConfiguration) {
        let name = report.upstream
        self.host = host
        upstream = name
        time = report.time
        let answer: Answer
        switch report.result {
        case .success(let said): answer = said
        case .failure(let failure):
            error = Failure(code: failure.code.description, message: "\(name): \(failure.message)", upstreams: [])
            return
        }
        sourceText = name
        for family in settings.families.members {
            guard let records = answer[family] else { continue }
            addresses += records.addresses
            ttls += records.addresses.map { _ in records.ttl ?? settings.defaultTTL }
        }
        guard addresses.isEmpty else {
            source = report.kind == .fixed ? .fixed : report.kind == .system ? .system : .fresh
            return
        }
        let isName = settings.families.members.contains { answer[$0].map(\.isNoName) ?? false }
        error = Failure(
            code: isName ? "noSuchName" : "noAddress",
            message: isName ? "\(name): there is no name \(host)" : "\(name): \(host) has no address",
            upstreams: []
        )
    }

    /// `HOST ADDRESS TTL SOURCE`, a line an address; TTL in seconds, `-` for one that does not end.
    var lines: [String] {
        zip(addresses, ttls).map { address, ttl in
            "\(host.text) \(address) \(ttl.map { "\($0.wholeSeconds)" } ?? "-") \(sourceText)"
        }
    }
}

extension Duration {
    /// In seconds, a part of one counted whole: what was said a moment ago has the TTL that was said.
    var wholeSeconds: Int64 { Int64(clamping: seconds.rounded(.up)) }
}

extension Answer.Records {
    fileprivate var isNoName: Bool {
        if case .absent(.noName, _) = self { true } else { false }
    }
}
