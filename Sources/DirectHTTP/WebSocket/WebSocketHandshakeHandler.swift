// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
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
    private var parser: HTTP1ResponseParser
    private var informationalCount = 0
    private var done: ((Result<Opened, DirectHTTPError>) -> Void)?

    /// - Parameter done: called once.
    init(
        _ handshake: WebSocketHandshake,
        limits: HTTP1ResponseParser.Limits,
        done: @escaping (Result<Opened, DirectHTTPError>) -> Void
    ) {
        self.handshake = handshake
        self.done = done
        parser = HTTP1ResponseParser(limits: limits)
    }

    func handlerAdded(context: ChannelHandlerContext) {
        parser.expect(method: .get)
        context.writeAndFlush(wrapOutboundOut(handshake.head), promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard done != nil else { return }
        parser.feed(unwrapInboundIn(data))
        do {
            while let event = try parser.next() {
                switch event {
                case .informational:
                    informationalCount += 1
                    guard informationalCount <= HTTP1Handler.maximumInformational else {
                        throw DirectHTTPError.malformed("too many informational responses")
                    }
                case .head(let response, _):
                    let agreement = try handshake.check(response)
                    let opened = Opened(response: response, agreement: agreement, rest: parser.takeRest())
                    let done = done.take()
                    context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
                    done?(.success(opened))
                    return
                case .body, .end:
                    break
                }
            }
        } catch let error as DirectHTTPError {
            fail(error, context)
        } catch {
            fail(DirectHTTPError(.malformedResponse, "\(error)"), context)
        }
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
