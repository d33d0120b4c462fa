// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOSSL
import Names

/// Runs the steps of a ``DialTarget`` on one TCP connection, on its event loop.
///
/// Each step adds its handler after the earlier ones. TLS with the proxy carries the CONNECT, and the tunnel carries the origin's
/// TLS.
final class Handshake {
    struct HandshakeResult {
        /// The protocol that the last ALPN chose, or `http/1.1`.
        var applicationProtocol: String
        /// The certificate that the peer of the last TLS handshake showed; nil without TLS.
        var certificate: NIOSSLCertificate?
        var ech = ECHOutcome.notOffered
        /// The origin's first bytes, which arrived together with a proxy's answer; only for a caller that carries them.
        var surplus = ByteBuffer()
    }

    private let channel: any Channel
    private let target: DialTarget
    private let isAnswering: Bool
    private let ech: ECHPlan
    private var rest: ArraySlice<DialStep>
    private var secured: HandshakeResult
    private var done: ((Result<HandshakeResult, DirectHTTPError>) -> Void)?

    /// - Parameter done: called once.
    init(
        on channel: any Channel,
        to target: DialTarget,
        isAnswering: Bool,
        ech: ECHPlan,
        done: @escaping (Result<HandshakeResult, DirectHTTPError>) -> Void
    ) {
        self.channel = channel
        self.target = target
        self.isAnswering = isAnswering
        self.ech = ech
        self.done = done
        secured = HandshakeResult(applicationProtocol: target.assumesHTTP2 ? "h2" : "http/1.1")
        rest = target.steps[...]
    }

    func next() {
        guard let step = rest.popFirst() else {
            done.take()?(.success(secured))
            return
        }
        switch step {
        case .tls(let tls): secure(tls)
        case .connect(let proxy, let origin):
            ask(
                ProxyTunnelHandshake(
                    to: origin,
                    proxy: proxy,
                    memory: target.proxies,
                    isAnswering: isAnswering,
                    allowsSurplus: allowsSurplus,
                    onHead: target.onTunnelHead
                )
            )
        case .socks(let proxy, let origin):
            do throws(DirectHTTPError) {
                ask(try SOCKSHandshake(to: origin, by: proxy, allowsSurplus: allowsSurplus))
            } catch {
                stepEnded(with: .failure(error))
            }
        }
    }

    /// Whether bytes after a proxy's answer are the origin's. Before TLS or HTTP, in which the client sends first, they are not.
    private var allowsSurplus: Bool { target.isTunnel && rest.isEmpty }

    private func ask<Question: ByteHandshake>(_ question: Question) where Question.Outcome == ByteBuffer {
        add([HandshakeHandler(question) { [self] result in stepEnded(with: result.map { secured.surplus = $0 }) }])
    }

    private func secure(_ step: TLSStep) {
        do {
            let offersECH = step.mayEncryptHello && ech.offer != .nothing
            let tls = try step.context(offersECH: offersECH)
            let handler = try NIOSSLClientHandler(context: tls.context, serverHostname: step.serverName)
            let hello = try encryptHello(step, handler)
            let waiter = HandshakeWaiter(for: handler) { [self] result in
                let outcome = result.mapError { step.blame(hello?.explain($0) ?? $0) }.flatMap { negotiated in
                    Result { () throws(DirectHTTPError) in
                        secured.certificate = handler.peerCertificate
                        if let error = step.objection(to: secured.certificate) { throw error }
                        if let hello { secured.ech = try hello.outcome() }
                        if !target.assumesHTTP2 { secured.applicationProtocol = negotiated ?? "http/1.1" }
                    }
                }
                // A rejection of ECH does not make the sessions of the origin invalid.
                if case .failure(let error) = outcome, error.echRejection == nil { step.forgetSessions(of: tls) }
                stepEnded(with: outcome)
            }
            add([handler, waiter])
        } catch let error as DirectHTTPError {
            stepEnded(with: .failure(error))
        } catch {
            stepEnded(with: .failure(DirectHTTPError(.tlsFailed, "cannot be given a server name: \(error)")))
        }
    }

    /// Prepares ECH for the handshake with the origin; nil for the handshake with a proxy.
    private func encryptHello(
        _ step: TLSStep,
        _ handler: NIOSSLClientHandler
    ) throws(DirectHTTPError) -> ECHHandshake? {
        guard step.isOrigin else { return nil }
        guard step.mayEncryptHello else {
            guard !ech.isRequired else {
                throw DirectHTTPError(
                    .echFailed,
                    "is not a name of DNS, so there is no server name to encrypt, but ECH is required"
                )
            }
            return nil
        }
        return try ECHHandshake(ech, on: handler, settings: step.settings)
    }

    private func add(_ handlers: [any ChannelHandler]) {
        do {
            try channel.pipeline.syncOperations.addHandlers(handlers)
        } catch {
            stepEnded(
                with: .failure(DirectHTTPError(.connectFailed, "closed the connection at once", underlyingError: error))
            )
        }
    }

    private func stepEnded(with result: Result<Void, DirectHTTPError>) {
        switch result {
        case .success: next()
        case .failure(let error): done.take()?(.failure(error))
        }
    }
}
