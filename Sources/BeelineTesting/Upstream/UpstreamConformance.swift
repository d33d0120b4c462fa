// SPDX-License-Identifier: Apache-2.0

public import HTTPDNS
public import Names

/// Checks that an `Upstream` meets the requirements of its protocol. Run it in the tests of your own upstream:
///
/// ```swift
/// let server = try await UpstreamServer.start()
/// try server.zone.set("known.test", to: ["192.0.2.1", "2001:db8::1"])
/// server.zone.set("silent.test", fault: .silence)
/// let suite = UpstreamConformance(
///     known: try Host("known.test"), v4: [try IPAddress(parsing: "192.0.2.1")],
///     v6: [try IPAddress(parsing: "2001:db8::1")], unknown: try Host("unknown.test"), silent: try Host("silent.test"))
/// try await suite.check(MyUpstream(at: server.endpoint))
/// ```
public struct UpstreamConformance: Sendable {
    /// A name that the upstream's service can resolve.
    package var known: Host
    /// The name's IPv4 addresses, in any order; nil: the upstream does not support IPv4.
    package var v4: [IPAddress]?
    /// The name's IPv6 addresses, in any order; nil: the upstream does not support IPv6.
    package var v6: [IPAddress]?
    /// A name that does not exist or that the service has no data for.
    package var unknown: Host
    /// A name that the service never answers; nil: cancellation is not checked.
    package var silent: Host?
    /// The time limit for a question to end after its cancellation. Default 2 s.
    package var cancellationLimit = Duration.seconds(2)

    /// Creates a suite for a service with these names.
    ///
    /// - Parameters:
    ///   - known: A name that the service resolves.
    ///   - v4: The name's IPv4 addresses, in any order; nil: the upstream does not support IPv4.
    ///   - v6: The name's IPv6 addresses, in any order; nil: the upstream does not support IPv6.
    ///   - unknown: A name that does not exist, or that the service has no data for.
    ///   - silent: A name that the service never answers; nil: cancellation is not checked.
    public init(known: Host, v4: [IPAddress]?, v6: [IPAddress]? = nil, unknown: Host, silent: Host? = nil) {
        self.known = known
        self.v4 = v4
        self.v6 = v6
        self.unknown = unknown
        self.silent = silent
    }

    /// Checks an upstream.
    ///
    /// - Throws: ``TestingError`` that names the violated requirement, or the upstream's own error.
    public func check(_ upstream: any Upstream) async throws {
        try require(!upstream.name.isEmpty, "an upstream has a name")
        try await checkKnown(upstream)
        try await checkUnknown(upstream)
        try await checkConcurrency(upstream)
        if let silent { try await checkCancellation(upstream, silent) }
    }

    private func checkKnown(_ upstream: any Upstream) async throws {
        for family in IPAddress.Family.allCases {
            guard let expected = family == .v4 ? v4 : v6 else { continue }
            let answer = try await upstream.answer(Question(known, families: Families(family)))
            let addresses = answer[family]?.addresses ?? []
            try require(
                Set(addresses) == Set(expected),
                "\(known) has the addresses \(expected), and the upstream says \(addresses)"
            )
            let other = answer[family == .v4 ? .v6 : .v4]
            try require(other?.addresses.isEmpty ?? true, "a question for \(family) is answered for \(family) only")
            try require(answer[family]?.ttl ?? .zero >= .zero, "a TTL is not negative")
        }
    }

    /// A family that the upstream supports.
    private var families: Families { v4 == nil ? .v6 : .v4 }

    private func checkUnknown(_ upstream: any Upstream) async throws {
        let answer: Answer
        do throws(UpstreamError) {
            answer = try await upstream.answer(Question(unknown, families: families))
        } catch {
            // An error that means that the service has no data for the name is allowed; any other error is a failure.
            let isSilent = error.code.reaction == .doNotRepeat
            return try require(isSilent, "\"there is no such name\" is an answer, not the error \(error.code)")
        }
        let addresses = IPAddress.Family.allCases.flatMap { answer[$0]?.addresses ?? [] }
        try require(addresses.isEmpty, "\(unknown) has no address, and the upstream says \(addresses)")
    }

    private func checkConcurrency(_ upstream: any Upstream) async throws {
        let question = Question(known, families: families)
        let first = try await upstream.answer(question)
        try await withThrowingTaskGroup(of: Answer.self) { group in
            for _ in 0..<32 { group.addTask { try await upstream.answer(question) } }
            for try await answer in group {
                try require(Self.sameAddresses(answer, first), "32 questions at once get the answers that one gets")
            }
        }
    }

    private func checkCancellation(_ upstream: any Upstream, _ host: Host) async throws {
        // Nil until the question ends; then, whether it has an answer. The check does not wait for the task, which lasts
        // for ever if the upstream ignores cancellation.
        let outcome = Watched<Bool?>(nil)
        let question = Task {
            let answer = try? await upstream.answer(Question(host, families: families))
            outcome.update { $0 = answer != nil }
        }
        // Give the question time to start. If it has not, the check still holds.
        try await Task.sleep(for: .milliseconds(50))
        question.cancel()
        let isAnswered: Bool?
        do {
            isAnswered = try await outcome.wait(for: "a cancelled question", atMost: cancellationLimit) { $0 != nil }
        } catch let error as TestingError where error.code == .timedOut {
            throw TestingError(.violation, "a cancelled question ends soon")
        }
        try require(isAnswered == false, "\(host) is never answered, and the upstream has an answer")
    }

    private static func sameAddresses(_ one: Answer, _ other: Answer) -> Bool {
        IPAddress.Family.allCases.allSatisfy { family in
            Set(one[family]?.addresses ?? []) == Set(other[family]?.addresses ?? [])
        }
    }

    private func require(_ condition: Bool, _ duty: String) throws {
        guard condition else { throw TestingError(.violation, duty) }
    }
}
