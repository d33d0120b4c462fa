// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes
import NIOConcurrencyHelpers
package import NIOCore
package import Names

/// What servers, or proxies, asked for the last time, so that later requests answer before they are asked.
package final class AuthMemory: Sendable {
    /// Origins and users that are remembered; the one that came first is forgotten for one more.
    static let maximumEntries = 256
    /// Challenges that are answered for one request: the first one, and one more because a remembered nonce was too old. A server
    /// that calls each nonce too old would be answered for ever; callers of ``learn(_:_:for:used:isRemembered:)`` count.
    package static let maximumChallenges = 2

    private struct Key: Hashable {
        let origin: Origin
        let credentials: Credentials
    }

    private enum Entry {
        case basic
        case digest(DigestChallenge, count: UInt32)
    }

    private struct State {
        var entries: [Key: Entry] = [:]
        var order: [Key] = []
    }

    /// Guards what is remembered and how often each nonce was used.
    private let state = NIOLockedValueBox(State())

    /// A memory without entries.
    package init() {}

    /// What a request is sent with: the field, and the nonce that it answers.
    package struct Answer: Sendable {
        /// The value of `Authorization` or `Proxy-Authorization`.
        package var field: String
        /// Nil for other schemes than Digest.
        var nonce: String?
    }

    /// The field of a request; nil where the server must ask first.
    ///
    /// - Parameters:
    ///   - credentials: who asks.
    ///   - origin: the server's.
    ///   - method: the request's.
    ///   - target: as it is sent.
    ///   - body: the request's, where it stands in memory.
    package func authorization(
        _ credentials: Credentials,
        for origin: Origin,
        method: HTTPRequest.Method,
        target: @autoclosure () -> String,
        body: @autoclosure () -> ByteBuffer? = nil
    ) -> Answer? {
        switch credentials.kind {
        case .basic, .bearer: return credentials.unaskedField.map { Answer(field: $0) }
        case .basicFirst, .digest, .any: break
        }
        let key = Key(origin: origin.httpEquivalent, credentials: credentials)
        let entry = state.withLockedValue { state -> Entry? in
            guard case .digest(let challenge, let count) = state.entries[key] else { return state.entries[key] }
            state.entries[key] = .digest(challenge, count: count &+ 1)
            return .digest(challenge, count: count &+ 1)
        }
        switch entry {
        case nil:
            return credentials.unaskedField.map { Answer(field: $0) }
        case .basic:
            return Answer(field: BasicCredentials(user: credentials.user, password: credentials.secret).fieldValue)
        case .digest(let challenge, let count):
            let answer = DigestAnswer(
                challenge: challenge,
                user: credentials.user,
                password: credentials.secret,
                method: method.rawValue,
                uri: target(),
                count: count,
                clientNonce: Self.clientNonce(),
                body: body()
            )
            return answer.fieldValue.map { Answer(field: $0, nonce: challenge.nonce) }
        }
    }

    /// Takes the challenges of a 401 or 407. Returns whether sending again with what ``authorization(_:for:method:target:body:)``
    /// then gives may help.
    ///
    /// - Parameters:
    ///   - values: those of `WWW-Authenticate` or `Proxy-Authenticate`.
    ///   - credentials: who asks.
    ///   - origin: the server's.
    ///   - used: the answer that the server did not take; nil where there was none.
    ///   - isRemembered: whether that answered a challenge of an earlier request.
    package func learn(
        _ values: [String],
        _ credentials: Credentials,
        for origin: Origin,
        used: Answer?,
        isRemembered: Bool
    ) -> Bool {
        guard credentials.kind != .basic, credentials.kind != .bearer else { return false }
        let key = Key(origin: origin.httpEquivalent, credentials: credentials)
        let takesBasic = values.flatMap(AuthChallenge.parse).contains { $0.scheme == "basic" }
        // Where Basic was given and is asked for all the same, user and password are wrong.
        if credentials.kind == .basicFirst, takesBasic, used?.nonce == nil { return false }
        if let challenge = DigestChallenge.best(of: values) {
            // Unless the server says that only the nonce is too old, the credentials are wrong. Of a nonce that is remembered not
            // every server says it; the answer to a new one is not given twice, since wrong ones lock accounts.
            guard used == nil || challenge.isStale || isRemembered && used?.nonce != challenge.nonce else {
                return false
            }
            remember(.digest(challenge, count: 0), key)
            return true
        }
        guard credentials.kind == .any, used == nil, takesBasic else { return false }
        remember(.basic, key)
        return true
    }

    /// Takes the next nonce, where the server names one in `Authentication-Info` (RFC 7616 §3.5).
    package func follow(_ info: String?, _ credentials: Credentials, for origin: Origin) {
        guard let info, let next = AuthChallenge.parse("info " + info).first?.parameters["nextnonce"] else { return }
        let key = Key(origin: origin.httpEquivalent, credentials: credentials)
        state.withLockedValue { state in
            guard case .digest(var challenge, _) = state.entries[key], challenge.nonce != next else { return }
            challenge.nonce = next
            state.entries[key] = .digest(challenge, count: 0)
        }
    }

    private func remember(_ entry: Entry, _ key: Key) {
        state.withLockedValue { state in
            if state.entries.updateValue(entry, forKey: key) == nil {
                state.order.append(key)
                if state.order.count > Self.maximumEntries { state.entries[state.order.removeFirst()] = nil }
            }
        }
    }

    private static func clientNonce() -> String {
        Hex.encode((0..<16).map { _ in UInt8.random(in: .min ... .max) })
    }
}
