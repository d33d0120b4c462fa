// SPDX-License-Identifier: Apache-2.0

import Names

extension Resolver {
    /// An upstream's answer to another resolver, checked like an answer to this one.
    func sharedAnswer(to question: Question, _ index: Int) async -> Answer? {
        guard let shared = configuration.shared else { return nil }
        let upstream = upstream(index)
        guard upstream.kind == .service,
            let answer = await shared.answer(to: question, from: upstream.name),
            var checked = try? configuration.check.checked(answer, from: upstream.kind)
        else { return nil }
        checked.isShared = true
        configuration.metrics?.shared(upstream.name)
        return checked
    }

    /// Shares an upstream's answer with other resolvers. An answer with ``Answer/extra`` is not shared, because that is
    /// specific to the client.
    func share(_ answer: Answer, to question: Question, _ index: Int) async {
        guard let shared = configuration.shared, answer.extra == nil else { return }
        let upstream = upstream(index)
        guard upstream.kind == .service else { return }
        await shared.share(answer, to: question, from: upstream.name)
    }
}
