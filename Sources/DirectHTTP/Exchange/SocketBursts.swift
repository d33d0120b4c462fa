// SPDX-License-Identifier: Apache-2.0

import LibC
import NIOCore

/// Applies the decisions of ``BurstReading`` to one connection's socket. Used on the event loop only.
final class SocketBursts {
    private var reading = BurstReading()
    private var check: Scheduled<Void>?

    /// Records bytes of a body.
    func received(_ bytes: Int, rest: @autoclosure () -> Int64?, now: NIODeadline, _ context: ChannelHandlerContext) {
        guard let change = reading.received(bytes, rest: rest(), now: now) else { return }
        make(change, on: context.channel)
    }

    func stop() { check?.cancel() }

    private func make(_ change: BurstReading.Change, on channel: any Channel) {
        Self.apply(change, to: channel)
        check?.cancel()
        if change == .begin { planCheck(channel) }
    }

    private func planCheck(_ channel: any Channel) {
        check = channel.eventLoop.assumeIsolated().scheduleTask(in: BurstReading.period) { [weak self] in
            guard let self else { return }
            if let change = reading.check() { make(change, on: channel) } else { planCheck(channel) }
        }
    }

    static func apply(_ change: BurstReading.Change, to channel: any Channel) {
        guard let options = channel.syncOptions else { return }
        let lowWater = ChannelOptions.socketOption(NIOBSDSocket.Option(rawValue: SO_RCVLOWAT))
        let size = BurstReading.size
        switch change {
        case .begin:
            try? options.setOption(lowWater, value: .init(size))
            // Two buffers alternate. More would not stay in the processor's cache.
            try? options.setOption(.maxMessagesPerRead, value: 2)
            let buffers = AdaptiveRecvByteBufferAllocator(minimum: 64, initial: size, maximum: size)
            try? options.setOption(.recvAllocator, value: buffers)
        case .end:
            try? options.setOption(lowWater, value: 1)
            try? options.setOption(.recvAllocator, value: AdaptiveRecvByteBufferAllocator())
            // The channel caches as many buffers as it reads at a time. Setting 1 frees all large buffers but one.
            try? options.setOption(.maxMessagesPerRead, value: 1)
            try? options.setOption(.maxMessagesPerRead, value: 4)
        }
    }
}
