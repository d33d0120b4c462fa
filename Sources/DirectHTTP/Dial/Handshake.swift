// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOSSL

/// Runs the steps of a ``DialTarget`` on one TCP connection, on its event loop.
///
/// Each step adds its handler after the earlier ones. TLS with the proxy carries the CONNECT, and the tunnel carries the origin's
/// TLS.
final class Handshake {
    private let channel: any Channel
    private let target: DialTarget
    private let isAnswering: Bool
    private var rest: ArraySlice<DialStep>
    private var applicationProtocol: String
    private var done: ((Result<String, DirectHTTPError>) -> Void)?

    /// - Parameters:
    ///   - isAnswering: whether the proxy closed the previous connection with a challenge.
    ///   - done: called once, with the protocol that the last ALPN chose or the error.
    init(
        on channel: any Channel,
        to target: DialTarget,
        isAnswering: Bool,
        done: @escaping (Result<String, DirectHTTPError>) -> Void
    ) {
        self.channel = channel
        self.target = target
        self.isAnswering = isAnswering
        self.done = done
        applicationProtocol = target.assumesHTTP2 ? "h2" : "http/1.1"
        rest = target.steps[...]
    }

    /// Runs the next step.
    func next() {
        guard let step = rest.popFirst() else {
            done.take()?(.success(applicationProtocol))
            return
        }
        switch step {
        case .tls(let tls): secure(tls)
        case .connect(let proxy, let origin):
            add([
                ProxyTunnelHandler(
                    to: origin,
                    proxy: proxy,
                    memory: target.proxies,
                    isAnswering: isAnswering,
                    onHead: target.onTunnelHead
                ) { [self] in
                    stepEnded(with: $0)
                }
            ])
        case .socks(let proxy, let origin):
            add([SOCKSHandler(to: origin, proxy: proxy) { [self] in stepEnded(with: $0) }])
        }
    }

    private func secure(_ step: TLSStep) {
        do {
            let handler = try NIOSSLClientHandler(context: step.context, serverHostname: step.serverName)
            let waiter = HandshakeWaiter(for: handler) { [self] result in
                let outcome = result.mapError(step.blame).flatMap { negotiated -> Result<Void, DirectHTTPError> in
                    if let error = step.objection(to: handler.peerCertificate) { return .failure(error) }
                    if !target.assumesHTTP2 { applicationProtocol = negotiated ?? "http/1.1" }
                    return .success(())
                }
                if case .failure = outcome { step.forgetSessions() }
                stepEnded(with: outcome)
            }
            add([handler, waiter])
        } catch {
            stepEnded(with: .failure(DirectHTTPError(.tlsFailed, "cannot be given a server name: \(error)")))
        }
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
