// SPDX-License-Identifier: Apache-2.0

import Names

extension Resolver {
    /// What another resolver was told by an upstream, checked as if it had been told to this one.
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

    /// Lets other resolvers have what an upstream said. What comes with an answer besides addresses belongs to its asker.
    func share(_ answer: Answer, to question: Question, _ index: Int) async {
        guard let shared = configuration.shared, answer.extra == nil else { return }
        let upstream = upstream(index)
        guard upstream.kind == .service else { return }
        await shared.share(answer, to: question, from: upstream.name)
    }
}
