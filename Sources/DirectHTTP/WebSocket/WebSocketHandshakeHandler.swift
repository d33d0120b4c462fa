// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import HTTPWire
import NIOCore

/// Sends the handshake and waits for the response, then leaves the pipeline.
final class WebSocketHandshakeHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// The response, the agreed parameters, and the bytes after the head, which are WebSocket frames.
    struct Opened {
        var response: HTTPResponse
        var agreement: WebSocketHandshake.Agreement
        var rest: ByteBuffer
    }

    private let handshake: WebSocketHandshake
    private var reader: HTTP1ResponseReader
    private var done: ((Result<Opened, DirectHTTPError>) -> Void)?

    /// - Parameter done: called once.
    init(
        _ handshake: WebSocketHandshake,
        limits: HTTP1ResponseReader.Limits,
        done: @escaping (Result<Opened, DirectHTTPError>) -> Void
    ) {
        self.handshake = handshake
        self.done = done
        reader = HTTP1ResponseReader(limits: limits)
    }

    func handlerAdded(context: ChannelHandlerContext) {
        reader.expect(method: .get)
        context.writeAndFlush(wrapOutboundOut(handshake.head), promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard done != nil else { return }
        reader.feed(unwrapInboundIn(data))
        do {
            while let event = try reader.next() {
                switch event {
                case .head(let response, let raw, _):
                    reportHead(response, raw: raw)
                    let agreement = try handshake.check(response)
                    let opened = Opened(response: response, agreement: agreement, rest: reader.takeRest())
                    let done = done.take()
                    context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
                    done?(.success(opened))
                    return
                case .informational(let response, let raw): reportHead(response, raw: raw)
                case .body, .end: break
                }
            }
        } catch let error as HTTP1Error {
            fail(.unreadable(error), context)
        } catch let error as DirectHTTPError {
            fail(error, context)
        } catch {
            fail(DirectHTTPError(.malformedResponse, "\(error)"), context)
        }
    }

    private func reportHead(_ response: HTTPResponse, raw: ByteBuffer) {
        handshake.request.request.onHead?(ReceivedHead(response, raw: raw))
    }

    func channelInactive(context: ChannelHandlerContext) {
        fail(
            DirectHTTPError(.connectionLost, "the server closed the connection during the WebSocket's handshake"),
            context
        )
        context.fireChannelInactive()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard event is UpgradedChannels.ShutDownEvent else { return context.fireUserInboundEventTriggered(event) }
        fail(.shutDown, context)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        fail(.broken(error), context)
    }

    /// Fails the handshake and closes the channel, for example on a timeout.
    func fail(_ error: DirectHTTPError, _ context: ChannelHandlerContext) {
        guard let done = done.take() else { return }
        done(.failure(error))
        context.closeTransport()
    }
}
