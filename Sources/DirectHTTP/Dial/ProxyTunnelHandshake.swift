// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import HTTPWire
import NIOCore
import Names

/// Asks an HTTP proxy for a tunnel to the origin by name (RFC 9110 §9.3.6). The outcome is the origin's first bytes.
///
/// It answers a proxy's challenge on the same connection. If the proxy closes this one, or the body of the challenge is too large to
/// be read, `isChallenge` of the error is true: a new connection may succeed.
struct ProxyTunnelHandshake: ByteHandshake {
    /// The maximum size of the body of a challenge or a refusal in bytes. More of it is not read.
    private static let maxBodyBytes = 64 * 1024
    /// How long the body of a refusal is waited for.
    private static let refusalTime = TimeAmount.milliseconds(250)

    private let origin: Origin
    private let proxy: Proxy
    private let memory: AuthMemory
    private let onHead: (@Sendable (ReceivedHead) -> Void)?
    private let allowsSurplus: Bool
    private var reader = HTTP1ResponseReader()
    private var answer: AuthMemory.Answer?
    private var bodyBytes = 0
    /// The proxy's final refusal, while its body is read to see whether it is malformed.
    private var refusal: DirectHTTPError?
    /// How many challenges were answered during this dial.
    private var challenges: Int
    /// The challenge that was the proxy's last answer on this connection.
    private var challenge: HTTPResponse?

    /// - Parameters:
    ///   - isAnswering: whether the proxy closed the previous connection with a challenge.
    ///   - allowsSurplus: whether the origin may send first.
    init(
        to origin: Origin,
        proxy: Proxy,
        memory: AuthMemory,
        isAnswering: Bool,
        allowsSurplus: Bool,
        onHead: (@Sendable (ReceivedHead) -> Void)?
    ) {
        self.origin = origin
        self.proxy = proxy
        self.memory = memory
        self.allowsSurplus = allowsSurplus
        self.onHead = onHead
        challenges = isAnswering ? 1 : 0
    }

    mutating func begin() -> ByteBuffer {
        reader.expect(method: .connect)
        answer = proxy.answer(from: memory, method: .connect, target: HTTP1RequestWriter.tunnelTarget(origin))
        return HTTP1RequestWriter.connect(to: origin, by: proxy, credentials: answer?.field)
    }

    mutating func receive(_ bytes: ByteBuffer) throws(DirectHTTPError) -> HandshakeAction<ByteBuffer> {
        reader.feed(bytes)
        while let event = try nextEvent() {
            switch event {
            case .informational(let response, let raw):
                onHead?(ReceivedHead(response, raw: raw))
            case .body(let piece):
                bodyBytes += piece.readableBytes
                guard bodyBytes <= Self.maxBodyBytes else {
                    throw refusal ?? challenge.map { refused($0).with(\.isChallenge) }
                        ?? malformed("too many bytes in the body of an answer")
                }
            case .head(let response, let raw, let keepAlive):
                onHead?(ReceivedHead(response, raw: raw))
                (challenge, bodyBytes) = (nil, 0)
                if response.status.kind == .successful { return .done(try takeSurplus()) }
                guard proxy.canAnswer(response, with: memory, used: answer, challenges: challenges) else {
                    let error = refused(response)
                    refusal = error
                    return .waitAtMost(Self.refusalTime, error)
                }
                challenges += 1
                guard keepAlive else { throw refused(response).with(\.isChallenge) }
                challenge = response
            case .end:
                if let refusal { throw refusal }
                // The end of a challenge. Bytes behind it are read as the next answer, as if they had arrived later.
                return .send(begin())
            }
        }
        return .wait
    }

    /// A proxy may close the connection after a challenge without announcing that; a new connection may then succeed.
    func lost(_ cause: (any Error)?) -> DirectHTTPError {
        if let refusal { return refusal }
        let reason = cause.map { "failed: \(TLSFault.explain($0))" } ?? "closed the connection"
        var error = DirectHTTPError(.proxyRefused, "the proxy \(proxy) \(reason)", underlyingError: cause)
        if let challenge { (error.response, error.isChallenge) = (challenge, true) }
        return error
    }

    private mutating func nextEvent() throws(DirectHTTPError) -> HTTP1ResponseReader.Event? {
        do throws(HTTP1Error) {
            return try reader.next()
        } catch {
            // The fault does not hide the refusal.
            throw refusal?.with(\.hasBrokenBody) ?? malformed(error.message)
        }
    }

    /// In TLS the client sends first. Bytes that arrive before that are refused, unless the tunnel may carry anything.
    private mutating func takeSurplus() throws(DirectHTTPError) -> ByteBuffer {
        let surplus = reader.takeRest()
        guard surplus.readableBytes == 0 || allowsSurplus else {
            throw DirectHTTPError(.proxyRefused, "the proxy \(proxy) sent bytes before the tunnel was established")
        }
        return surplus
    }

    private func refused(_ response: HTTPResponse) -> DirectHTTPError {
        let remedy = proxy.user == nil ? ": set its user and password" : ": its user or password is wrong"
        var error = DirectHTTPError(
            .proxyRefused,
            "the proxy \(proxy) answered \(response.status) to CONNECT \(origin.authority)"
                + (response.status == .proxyAuthenticationRequired ? remedy : "")
        )
        error.response = response
        return error
    }

    private func malformed(_ message: String) -> DirectHTTPError {
        DirectHTTPError(.malformedResponse, "the answer of the proxy \(proxy) is not HTTP: \(message)")
    }
}
