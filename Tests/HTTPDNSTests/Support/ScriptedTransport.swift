// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import HTTPDNS
import NIOConcurrencyHelpers
import Names
import Testing

/// A transport that plays a script and records its requests.
final class ScriptedTransport: UpstreamTransport {
    typealias Reply = Result<UpstreamReply, UpstreamError>

    private let state: NIOLockedValueBox<(replies: [Reply], requests: [UpstreamRequest])>

    init(_ replies: Reply...) {
        state = NIOLockedValueBox((replies, []))
    }

    var requests: [UpstreamRequest] { state.withLockedValue { $0.requests } }

    func exchange(_ request: UpstreamRequest) async throws(UpstreamError) -> UpstreamReply {
        let reply = state.withLockedValue { state -> Reply? in
            state.requests.append(request)
            return state.replies.isEmpty ? nil : state.replies.removeFirst()
        }
        guard let reply else {
            Issue.record("a request without a script: \(request)")
            throw UpstreamError(.unsupported, "no script")
        }
        return try reply.get()
    }
}

extension Result where Success == UpstreamReply, Failure == UpstreamError {
    static func text(_ text: String, status: Int = 200) -> Self {
        .success(UpstreamReply(status: status, body: Array(text.utf8)))
    }

    static func octets(_ octets: [UInt8], status: Int = 200) -> Self {
        .success(UpstreamReply(status: status, body: octets))
    }
}

/// Polls a condition that has no event to wait for, without sleeping. After 30 s the test fails and the run continues.
func until(sourceLocation: SourceLocation = #_sourceLocation, _ condition: () -> Bool) async {
    let deadline = ContinuousClock.now + .seconds(30)
    while !condition() {
        guard ContinuousClock.now < deadline else {
            Issue.record("what was waited for did not come", sourceLocation: sourceLocation)
            return
        }
        await Task.yield()
    }
}

func v4(_ text: String, ttl: Int? = 60) -> Answer {
    Answer(v4: .addresses(addresses(text), ttl: ttl.map { .seconds($0) }))
}

func addresses(_ text: String) -> [IPAddress] {
    text.split(separator: " ").compactMap { IPAddress(String($0)) }
}

func host(_ text: String) -> Host {
    do { return try Host(text) } catch {
        Issue.record("not a host: \(text)")
        return Host(IPAddress(v4: 0))
    }
}

extension Answer {
    static func both(_ v4: String, _ v6: String, ttl: Int? = 60) -> Answer {
        let ttl = ttl.map { Duration.seconds($0) }
        return Answer(v4: .addresses(addresses(v4), ttl: ttl), v6: .addresses(addresses(v6), ttl: ttl))
    }
}
