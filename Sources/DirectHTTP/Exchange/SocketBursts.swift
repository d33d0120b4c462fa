// SPDX-License-Identifier: Apache-2.0

import LibC
import NIOCore

/// Applies the decisions of ``BurstReading`` to one connection's socket. Used on the event loop only.
final class SocketBursts {
    private var reading = BurstReading()
    private var check: Scheduled<Void>?

    /// Records bytes of a body.
    func received(_ bytes: Int, rest: @autoclosure () -> Int64?, now: NIODeadline, _ context: ChannelHandlerContext) {
        let wasOn = reading.isOn
        reading.received(bytes, rest: rest(), now: now)
        if reading.isOn != wasOn { change(context.channel) }
    }

    func stop() { check?.cancel() }

    private func change(_ channel: any Channel) {
        Self.setBursts(reading.isOn, on: channel)
        check?.cancel()
        if reading.isOn { planCheck(channel) }
    }

    private func planCheck(_ channel: any Channel) {
        check = channel.eventLoop.assumeIsolated().scheduleTask(in: BurstReading.period) { [weak self] in
            guard let self else { return }
            reading.check()
            if reading.isOn { planCheck(channel) } else { change(channel) }
        }
    }

    static func setBursts(_ isOn: Bool, on channel: any Channel) {
        guard let options = channel.syncOptions else { return }
        let lowWater = ChannelOptions.socketOption(NIOBSDSocket.Option(rawValue: SO_RCVLOWAT))
        let size = BurstReading.size
        if isOn {
            try? options.setOption(lowWater, value: .init(size))
            // Two buffers alternate. More would not stay in the processor's cache.
            try? options.setOption(.maxMessagesPerRead, value: 2)
            let buffers = AdaptiveRecvByteBufferAllocator(minimum: 64, initial: size, maximum: size)
            try? options.setOption(.recvAllocator, value: buffers)
        } else {
            try? options.setOption(lowWater, value: 1)
            try? options.setOption(.recvAllocator, value: AdaptiveRecvByteBufferAllocator())
            // The channel caches as many buffers as it reads at a time. Setting 1 frees all large buffers but one.
            try? options.setOption(.maxMessagesPerRead, value: 1)
            try? options.setOption(.maxMessagesPerRead, value: 4)
        }
    }
}
