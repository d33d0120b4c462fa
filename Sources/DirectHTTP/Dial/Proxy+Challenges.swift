// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import NIOCore

extension Proxy {
    /// The `Proxy-Authorization` of a request; nil without credentials, or if the proxy must send a challenge first.
    func answer(
        from memory: AuthMemory,
        method: HTTPRequest.Method,
        target: @autoclosure () -> String,
        body: @autoclosure () -> ByteBuffer? = nil
    ) -> AuthMemory.Answer? {
        guard let credentials else { return nil }
        return memory.authorization(credentials, for: origin, method: method, target: target(), body: body())
    }

    /// Whether a response is a challenge that can be answered. Remembers the challenge.
    ///
    /// - Parameters:
    ///   - used: the credentials that the proxy rejected; nil if none were sent.
    ///   - challenges: how many challenges were answered for the same request.
    func canAnswer(
        _ response: HTTPResponse,
        with memory: AuthMemory,
        used: AuthMemory.Answer?,
        challenges: Int
    ) -> Bool {
        guard response.status == .proxyAuthenticationRequired, let credentials,
            challenges < AuthMemory.maxChallenges
        else { return false }
        return memory.recordChallenge(
            response.headerFields[values: .proxyAuthenticate],
            credentials,
            for: origin,
            used: used,
            isRemembered: challenges == 0
        )
    }
}
