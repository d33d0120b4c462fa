// SPDX-License-Identifier: Apache-2.0

/// Who gave an answer, and who had failed before. One object is shared by all resolutions of an answer, and by all
/// answers that an upstream gave without trouble.
final class Provenance: Hashable, Sendable {
    let upstream: String
    let kind: UpstreamKind
    let failures: [ResolutionError.Failure]

    init(upstream: String, kind: UpstreamKind, failures: [ResolutionError.Failure] = []) {
        self.upstream = upstream
        self.kind = kind
        self.failures = failures
    }

    static func == (one: Provenance, other: Provenance) -> Bool {
        one === other
            || (one.upstream == other.upstream && one.kind == other.kind && one.failures == other.failures)
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(upstream)
    }
}
