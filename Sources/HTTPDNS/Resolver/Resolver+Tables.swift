// SPDX-License-Identifier: Apache-2.0

package import Names

/// The tables that the user wrote.
extension Resolver {
    /// Whether an upstream is a table that the user wrote.
    package var hasTables: Bool { configuration.upstreams.contains { $0.kind == .fixed } }

    /// Whether a table has the host, as far as can be told at once: a file may have changed since it was read.
    package func isInTable(_ host: Host) -> Bool {
        configuration.upstreams.contains { ($0 as? any TableUpstream)?.has(host) ?? false }
    }

    /// The answer of the first table that has the name; nil if none has it.
    package func tableAnswer(to question: Question) async -> Answer? {
        for table in configuration.upstreams where table.kind == .fixed {
            if let answer = await withinBudget({ try? await table.answer(question) }) { return answer }
        }
        return nil
    }
}
