// SPDX-License-Identifier: Apache-2.0

/// The upstream and network of an answer, and the upstreams that failed before. All resolutions of an answer share one
/// object, and so do all answers of an upstream without failures.
final class Provenance: Hashable, Sendable {
    let upstream: String
    let kind: UpstreamKind
    let network: String
    let failures: [ResolutionError.Failure]
    let extra: String?

    init(
        upstream: String,
        kind: UpstreamKind,
        network: String = "",
        failures: [ResolutionError.Failure] = [],
        extra: String? = nil
    ) {
        self.upstream = upstream
        self.kind = kind
        self.network = network
        self.failures = failures
        self.extra = extra
    }

    /// A copy with other failures.
    func with(_ failures: [ResolutionError.Failure]) -> Provenance {
        Provenance(upstream: upstream, kind: kind, network: network, failures: failures, extra: extra)
    }

    static func == (one: Provenance, other: Provenance) -> Bool {
        one === other
            || (one.upstream == other.upstream && one.kind == other.kind && one.network == other.network
                && one.failures == other.failures && one.extra == other.extra)
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(upstream)
    }
}
