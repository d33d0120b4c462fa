// SPDX-License-Identifier: Apache-2.0

/// The result of a lookup, from which each caller makes its resolution.
///
/// A class, because the value is large and is passed to every caller.
final class LookupResult: Sendable {
    let entry: AnswerCache.Entry
    let source: Resolution.Source
    let time: Moment
    /// Whether the upstream has not answered for one of the families.
    let isPartial: Bool
    /// The HTTPS records that the caller asked for; nil if there are none, or they have not arrived.
    let answer: ServiceAnswer?
    /// The endpoints that the records lead to.
    let plan: ServicePlan?

    init(
        entry: AnswerCache.Entry,
        source: Resolution.Source,
        time: Moment,
        isPartial: Bool = false,
        answer: ServiceAnswer? = nil,
        plan: ServicePlan? = nil
    ) {
        self.entry = entry
        self.source = source
        self.time = time
        self.isPartial = isPartial
        self.answer = answer
        self.plan = plan
    }

    /// The result with HTTPS records.
    func with(_ answer: ServiceAnswer, plan: ServicePlan?) -> LookupResult {
        LookupResult(entry: entry, source: source, time: time, isPartial: isPartial, answer: answer, plan: plan)
    }
}
