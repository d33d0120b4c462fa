// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes
import NIOConcurrencyHelpers
package import NIOCore
package import Names

/// Remembers the last challenge of each server or proxy, so that later requests send credentials without waiting for a challenge.
package final class AuthMemory: Sendable {
    /// The maximum number of entries; beyond that the oldest is forgotten.
    static let maxEntries = 256
    /// The maximum number of challenges to answer for one request: the first, and a second for an expired remembered
    /// nonce. Otherwise a server that calls every nonce stale could repeat its challenge for ever. Callers of
    /// ``recordChallenge(_:_:for:used:isRemembered:)`` count the challenges.
    package static let maxChallenges = 2

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

        mutating func remember(_ entry: Entry, _ key: Key) {
            var entry = entry
            // A concurrent request may have got the same nonce and used it. A server refuses a count that it has seen.
            if case .digest(let challenge, _) = entry, case .digest(let known, let count)? = entries[key],
                known.nonce == challenge.nonce
            {
                entry = .digest(challenge, count: count)
            }
            if entries.updateValue(entry, forKey: key) == nil {
                order.append(key)
                if order.count > AuthMemory.maxEntries { entries[order.removeFirst()] = nil }
            }
        }
    }

    /// Guards the entries and the use count of each nonce.
    private let state = NIOLockedValueBox(State())

    package init() {}

    /// The credentials of a request: the field's value and the nonce that it answers.
    package struct Answer: Sendable {
        /// The value of `Authorization` or `Proxy-Authorization`.
        package var field: String
        /// Nil for schemes other than Digest.
        var nonce: String?
    }

    /// The credentials for a request; nil if the server must send a challenge first.
    ///
    /// - Parameters:
    ///   - target: the request target as sent.
    ///   - body: the request's body if it is in memory.
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

    /// Remembers the challenge of a 401 or 407. Returns whether the request may succeed when sent again with the result of
    /// ``authorization(_:for:method:target:body:)``.
    ///
    /// - Parameters:
    ///   - values: the values of `WWW-Authenticate` or `Proxy-Authenticate`.
    ///   - used: the credentials that the server rejected; nil if none were sent.
    ///   - isRemembered: whether `used` answered a challenge of an earlier request.
    package func recordChallenge(
        _ values: [String],
        _ credentials: Credentials,
        for origin: Origin,
        used: Answer?,
        isRemembered: Bool
    ) -> Bool {
        guard credentials.kind != .basic, credentials.kind != .bearer else { return false }
        let key = Key(origin: origin.httpEquivalent, credentials: credentials)
        let takesBasic = values.flatMap(AuthChallenge.parse).contains { $0.scheme == "basic" }
        // If Basic was sent and the server asks for Basic again, user or password is wrong.
        if credentials.kind == .basicFirst, takesBasic, used?.nonce == nil { return false }
        if let challenge = DigestChallenge.best(of: values) {
            // The credentials are wrong, unless only the nonce is stale; not all servers say so of a remembered one.
            // Never answer a new nonce twice: repeated wrong passwords can lock accounts.
            guard used == nil || challenge.isStale || isRemembered && used?.nonce != challenge.nonce else {
                return false
            }
            state.withLockedValue { $0.remember(.digest(challenge, count: 0), key) }
            return true
        }
        // Only Basic is offered. If the answer was for a remembered Digest challenge, that challenge may have come from an origin
        // behind the proxy, whose 407 the proxy passed on. It must not stay, or each later request would fail.
        guard takesBasic, used == nil || used?.nonce != nil, credentials.kind != .digest else { return false }
        state.withLockedValue { $0.remember(.basic, key) }
        return true
    }

    /// Stores the next nonce if the server sends one in `Authentication-Info` (RFC 7616 §3.5).
    package func follow(_ info: String?, _ credentials: Credentials, for origin: Origin) {
        guard let info, let next = AuthChallenge.parse("info " + info).first?.parameters["nextnonce"] else { return }
        let key = Key(origin: origin.httpEquivalent, credentials: credentials)
        state.withLockedValue { state in
            guard case .digest(var challenge, _) = state.entries[key], challenge.nonce != next else { return }
            challenge.nonce = next
            state.entries[key] = .digest(challenge, count: 0)
        }
    }

    /// Makes the first request to another origin send Basic if `origin` asked for Basic, and nothing is known of the other. For
    /// a redirect whose target may have the credentials.
    package func carryBasic(_ credentials: Credentials, from origin: Origin, to target: Origin) {
        let source = Key(origin: origin.httpEquivalent, credentials: credentials)
        let destination = Key(origin: target.httpEquivalent, credentials: credentials)
        state.withLockedValue { state in
            guard case .basic = state.entries[source], state.entries[destination] == nil else { return }
            state.remember(.basic, destination)
        }
    }

    private static func clientNonce() -> String {
        Hex.encode((0..<16).map { _ in UInt8.random(in: .min ... .max) })
    }
}
