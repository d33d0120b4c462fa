// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOPosix
import Names

/// One query over UDP, sent to one server after another until one answers.
///
/// Each try has its own connected socket, with a port that the kernel picks. A datagram is accepted if it comes from
/// the server to that port and passes `isAnswer`, which compares the ID and the question. Other datagrams are ignored.
final class UDPExchange {
    /// The maximum number of tries. After `interval`, the next try follows. After the last try, the exchange fails.
    static let maxTries = 3
    static let interval = TimeAmount.milliseconds(600)
    /// The largest datagram to read. EDNS advertises less, but some servers ignore it.
    static let maxDatagram = 65_535

    /// An accepted datagram.
    struct Reply: Sendable {
        var message: DNSMessage
        var octets: [UInt8]
        var server: Endpoint
    }

    private let loop: any EventLoop
    private let servers: [Endpoint]
    private let query: [UInt8]
    private let isAnswer: @Sendable (DNSMessage) -> Bool
    /// The name that an answer must repeat exactly; nil for any letter case.
    private let name: DNSName?
    /// An answer with another letter case. It is delivered if no exact answer arrives from any server.
    private var inexact: Reply?
    private let promise: EventLoopPromise<Reply>
    private var channels: [any Channel] = []
    private var tries = 0
    private var failures = 0
    /// Whether a datagram was not accepted.
    private var hasIgnored = false
    private var isOver = false
    private var timer: Scheduled<Void>?

    /// An exchange on `loop`, where it must be used exclusively. Call ``start()`` to begin.
    init(
        loop: any EventLoop,
        servers: [Endpoint],
        query: [UInt8],
        promise: EventLoopPromise<Reply>,
        repeating name: DNSName?,
        isAnswer: @escaping @Sendable (DNSMessage) -> Bool
    ) {
        self.loop = loop
        self.servers = servers
        self.query = query
        self.promise = promise
        self.isAnswer = isAnswer
        self.name = name
    }

    /// Sends the first query.
    func start() {
        promise.futureResult.assumeIsolated().whenComplete { _ in self.end() }
        tryNext()
    }

    private func tryNext() {
        guard !isOver else { return }
        if let inexact, tries >= min(Self.maxTries, servers.count) { return promise.succeed(inexact) }
        guard tries < Self.maxTries else {
            // Forged and broken datagrams look alike here.
            let others = hasIgnored ? "; what arrived was broken or answered another question" : ""
            return promise.fail(UpstreamError(.timeLimit, "no DNS server answered \(tries) queries\(others)"))
        }
        let server = servers[tries % servers.count]
        tries += 1
        let mine = NIOLoopBound(self, eventLoop: loop)
        timer?.cancel()
        timer = loop.scheduleTask(in: Self.interval) { mine.value.tryNext() }
        open(server).assumeIsolated().whenComplete { result in
            switch result {
            case .success(let channel):
                guard !self.isOver else { return channel.close(promise: nil) }
                self.channels.append(channel)
                channel.writeAndFlush(ByteBuffer(bytes: self.query), promise: nil)
            case .failure(let error):
                self.failed(server, with: error)
            }
        }
    }

    private func open(_ server: Endpoint) -> EventLoopFuture<any Channel> {
        let mine = NIOLoopBound(self, eventLoop: loop)
        do {
            let address = try SocketAddress(ipAddress: server.address.description, port: Int(server.port))
            return DatagramBootstrap(group: loop)
                .channelOption(.recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: Self.maxDatagram))
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(Reader(exchange: mine, server: server))
                    }
                }
                .connect(to: address)
        } catch {
            return loop.makeFailedFuture(error)
        }
    }

    private func received(_ octets: [UInt8], from server: Endpoint) {
        guard !isOver else { return }
        guard let message = try? DNSMessage(octets: octets), isAnswer(message) else {
            hasIgnored = true
            return
        }
        let reply = Reply(message: message, octets: octets, server: server)
        if let name, let own = message.questions.first?.name, own.wire != name.wire {
            inexact = inexact ?? reply
        } else {
            promise.succeed(reply)
        }
    }

    private func failed(_ server: Endpoint, with error: any Error) {
        guard !isOver else { return }
        failures += 1
        if failures >= Self.maxTries {
            let reason = (error as? IOError).map { String.words(forError: $0.errnoCode) } ?? "\(error)"
            promise.fail(UpstreamError(.unreachable, "no DNS server at \(server): \(reason)"))
        } else if failures == tries {
            tryNext()
        }
    }

    private func end() {
        isOver = true
        timer?.cancel()
        for channel in channels { channel.close(promise: nil) }
        channels = []
    }

    /// Passes datagrams to the exchange.
    private final class Reader: ChannelInboundHandler {
        typealias InboundIn = AddressedEnvelope<ByteBuffer>

        private let exchange: NIOLoopBound<UDPExchange>
        private let server: Endpoint

        init(exchange: NIOLoopBound<UDPExchange>, server: Endpoint) {
            self.exchange = exchange
            self.server = server
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            exchange.value.received(Array(unwrapInboundIn(data).data.readableBytesView), from: server)
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            // A closed port is reported here (ICMP port unreachable).
            exchange.value.failed(server, with: error)
            context.close(promise: nil)
        }
    }
}
