// SPDX-License-Identifier: Apache-2.0

import DirectHTTP
import HTTPTypes
import NIOConcurrencyHelpers
import Names

/// What the servers asked for the last time, so that later requests answer before they are asked.
final class AuthMemory: Sendable {
    /// Origins and users that are remembered; the one that came first is forgotten for one more.
    static let maximumEntries = 256

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

    /// What a hop is sent with: the field, and the nonce that it answers.
    struct Answer: Sendable {
        var field: String
        var nonce: String?
    }

    /// The `Authorization` of a hop; nil where the server must ask first.
    func authorization(_ credentials: Credentials, for hop: HopRequest) -> Answer? {
        if let field = credentials.unaskedField { return Answer(field: field) }
        let key = Key(origin: hop.url.origin.httpEquivalent, credentials: credentials)
        let entry = state.withLockedValue { state -> Entry? in
            guard case .digest(let challenge, let count) = state.entries[key] else { return state.entries[key] }
            state.entries[key] = .digest(challenge, count: count &+ 1)
            return .digest(challenge, count: count &+ 1)
        }
        switch entry {
        case nil:
            return nil
        case .basic:
            return Answer(field: BasicCredentials(user: credentials.user, password: credentials.secret).fieldValue)
        case .digest(let challenge, let count):
            let answer = DigestAnswer(
                challenge: challenge,
                user: credentials.user,
                password: credentials.secret,
                method: hop.method.rawValue,
                uri: hop.url.target,
                count: count,
                clientNonce: Self.clientNonce(),
                body: hop.body.bytesInMemory
            )
            return answer.fieldValue.map { Answer(field: $0, nonce: challenge.nonce) }
        }
    }

    /// Takes a 401's challenges. Returns whether sending again with what ``authorization(_:for:)`` then gives may help.
    ///
    /// - Parameters:
    ///   - used: the answer that the server did not take; nil where there was none.
    ///   - isRemembered: whether that answered a challenge of an earlier request.
    func learn(
        _ fields: HTTPFields,
        _ credentials: Credentials,
        for hop: HopRequest,
        used: Answer?,
        isRemembered: Bool
    ) -> Bool {
        guard credentials.kind == .digest || credentials.kind == .any else { return false }
        let key = Key(origin: hop.url.origin.httpEquivalent, credentials: credentials)
        let values = fields[values: .wwwAuthenticate]
        if let challenge = DigestChallenge.best(of: values) {
            // Unless the server says that only the nonce is too old, the credentials are wrong. Of a nonce that is remembered not
            // every server says it; the answer to a new one is not given twice, since wrong ones lock accounts.
            guard used == nil || challenge.isStale || isRemembered && used?.nonce != challenge.nonce else {
                return false
            }
            remember(.digest(challenge, count: 0), key)
            return true
        }
        guard credentials.kind == .any, used == nil,
            values.flatMap(AuthChallenge.parse).contains(where: { $0.scheme == "basic" })
        else { return false }
        remember(.basic, key)
        return true
    }

    /// Takes the next nonce, where the server names one (RFC 7616 §3.5).
    func follow(_ fields: HTTPFields, _ credentials: Credentials, for hop: HopRequest) {
        guard let info = fields[.authenticationInfo],
            let next = AuthChallenge.parse("info " + info).first?.parameters["nextnonce"]
        else { return }
        let key = Key(origin: hop.url.origin.httpEquivalent, credentials: credentials)
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
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: (0..<32).map { _ in digits[Int.random(in: 0..<16)] }, as: UTF8.self)
    }
}
