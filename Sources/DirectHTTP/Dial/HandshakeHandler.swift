// SPDX-License-Identifier: Apache-2.0

import NIOCore

/// A handshake with a peer before a connection is used, as a value: bytes in, bytes out.
protocol ByteHandshake {
    associatedtype Outcome

    /// The bytes to send first.
    mutating func begin() -> ByteBuffer
    /// Handles bytes from the peer. Empty input asks for the next action after `send` and `waitAtMost`.
    mutating func receive(_ bytes: ByteBuffer) throws(DirectHTTPError) -> HandshakeAction<Outcome>
    /// The error of a connection that ended during the handshake.
    ///
    /// - Parameter cause: nil if the peer closed it.
    func lost(_ cause: (any Error)?) -> DirectHTTPError
}

/// What to do after received bytes.
enum HandshakeAction<Outcome> {
    case send(ByteBuffer)
    /// More bytes are needed.
    case wait
    /// More bytes are needed. Unless the handshake ends within this time, it fails with this error.
    case waitAtMost(TimeAmount, DirectHTTPError)
    case done(Outcome)
}

/// Carries out a ``ByteHandshake`` on a channel, then leaves the pipeline.
final class HandshakeHandler<Handshake: ByteHandshake>: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private var handshake: Handshake
    private var timer: Scheduled<Void>?
    private var done: ((Result<Handshake.Outcome, DirectHTTPError>) -> Void)?

    /// - Parameter done: called once. After an error, the channel is closed.
    init(_ handshake: Handshake, done: @escaping (Result<Handshake.Outcome, DirectHTTPError>) -> Void) {
        self.handshake = handshake
        self.done = done
    }

    func handlerAdded(context: ChannelHandlerContext) {
        context.writeAndFlush(wrapOutboundOut(handshake.begin()), promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = unwrapInboundIn(data)
        do throws(DirectHTTPError) {
            while done != nil {
                switch try handshake.receive(bytes) {
                case .wait: return
                case .send(let answer):
                    context.writeAndFlush(wrapOutboundOut(answer), promise: nil)
                    bytes = ByteBuffer()
                case .waitAtMost(let time, let error):
                    timer = context.eventLoop.assumeIsolated().scheduleTask(in: time) { [self] in fail(error, context) }
                    bytes = ByteBuffer()
                case .done(let outcome):
                    let done = done.take()
                    // Leave first, so that handlers added by `done` go to the end of the pipeline.
                    context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
                    done?(.success(outcome))
                }
            }
        } catch {
            fail(error, context)
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        fail(handshake.lost(nil), context)
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { fail(handshake.lost(error), context) }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard event is ShutDownEvent else { return context.fireUserInboundEventTriggered(event) }
        fail(.shutDown, context)
    }

    /// Fails the handshake and closes the channel, for example on a timeout.
    func fail(_ error: DirectHTTPError, _ context: ChannelHandlerContext) {
        guard let done = done.take() else { return }
        timer?.cancel()
        done(.failure(error))
        context.channel.closeTransport()
    }
}
