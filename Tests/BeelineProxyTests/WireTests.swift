// SPDX-License-Identifier: Apache-2.0

import Beeline
import DirectHTTP
import NIOConcurrencyHelpers
import NIOCore
import NIOEmbedded
import Names
import Testing

@testable import BeelineProxy

@Suite("A client's connection on fake time")
struct WireTests {
    private typealias Lab = WireLab

    private final class Owner: WireOwner {
        var closed = 0
        var changes = 0
        var ends = 0

        func received(_ bytes: ByteBuffer, from wire: Wire) {}
        func receivedAll(from wire: Wire) {}
        func inputEnded(of wire: Wire) { ends += 1 }
        func writabilityChanged(of wire: Wire) { changes += 1 }
        func closed(_ wire: Wire) { closed += 1 }
        func check(_ wire: Wire, now: NIODeadline) {}
    }

    private static let request = "GET /x HTTP/1.1\r\nHost: a\r\n\r\n"

    @Test("a client that reads no responses gets no response to further requests until it reads")
    func backPressure() throws {
        let lab = try Lab()
        lab.stopper.isOpen = true
        try lab.send(Self.request)
        #expect(lab.server.counts.refused == 1)
        lab.channel.isWritable = false
        lab.channel.pipeline.fireChannelWritabilityChanged()
        for _ in 0..<10 { try lab.send(Self.request) }
        #expect(lab.server.counts.refused == 1 && lab.wire.isPaused)
        // The client half-closes, and its pending requests are still answered.
        lab.channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        #expect(lab.channel.isActive)
        lab.channel.isWritable = true
        lab.channel.pipeline.fireChannelWritabilityChanged()
        #expect(lab.server.counts.refused == 11 && !lab.channel.isActive)
        lab.end()
    }

    @Test("the limit between requests does not cut a response that the client still reads")
    func slowReaderBetweenRequests() throws {
        let lab = try Lab()
        lab.stopper.isOpen = false
        try lab.send(Self.request)
        let start = lab.channel.eventLoop.now
        for minute in 0..<10 {
            // Write one byte each time. Every third time the socket accepts them.
            lab.wire.write(ByteBuffer(string: "x"))
            lab.reader.check(lab.wire, now: start + .minutes(Int64(2 * minute)))
            guard minute % 3 == 2 else { continue }
            lab.stopper.isOpen = true
            lab.channel.flush()
            lab.stopper.isOpen = false
        }
        #expect(lab.channel.isActive)
        let last = start + .minutes(18)
        lab.reader.check(lab.wire, now: last + .minutes(9))
        #expect(lab.channel.isActive)
        lab.reader.check(lab.wire, now: last + .minutes(10))
        #expect(!lab.channel.isActive, "nothing was read for \(ProxyLimits().reply ?? .zero)")
        lab.end()
    }

    @Test("a closing connection with unsent bytes closes when a time limit set afterwards passes")
    func lastCall() throws {
        let lab = try Lab()
        lab.wire.write(ByteBuffer(string: "x"))
        lab.wire.closeAfterFlush()
        #expect(lab.channel.isActive)
        lab.wire.closeAfterFlush(within: .seconds(5))
        lab.channel.embeddedEventLoop.advanceTime(by: .seconds(4))
        #expect(lab.channel.isActive)
        lab.channel.embeddedEventLoop.advanceTime(by: .seconds(1))
        #expect(!lab.channel.isActive)
        lab.end()
    }

    @Test("the last bytes are not cut while the peer receives them, but not for ever", arguments: [3, 31])
    func slowLastBytes(periods: Int) throws {
        let waiting = NIOLockedValueBox(100)
        let lab = try Lab(unacknowledgedBytes: { _ in waiting.withLockedValue { $0 } })
        lab.wire.write(ByteBuffer(string: "x"))
        lab.wire.closeAfterFlush(within: .seconds(5))
        for period in 1...periods {
            #expect(lab.channel.isActive)
            waiting.withLockedValue { $0 -= 1 }
            lab.channel.embeddedEventLoop.advanceTime(by: .seconds(5))
            #expect(lab.channel.isActive == (period <= 30))
        }
        lab.channel.embeddedEventLoop.advanceTime(by: .seconds(5))
        #expect(!lab.channel.isActive)
        lab.end()
    }

    @Test("the zone of an address, which is valid on this machine only, is not sent to the origin")
    func zoneInHost() throws {
        for port in ["", ":80", ":"] {
            let (client, origin) = (try Lab(), try Lab())
            origin.stopper.isOpen = true
            let destination = Destination(try Host("[fe80::1%25eth0]"), port: 80)
            client.server.origins.keep(origin.wire, to: destination, of: client.wire, now: .now())
            try client.send("GET http://[fe80::1%25eth0]\(port)/ HTTP/1.1\r\nHost: a.test\r\n\r\n")
            #expect(try origin.sent().contains("\r\nHost: [fe80::1]\(port)\r\n"))
            client.end()
            origin.end()
        }
    }

    @Test("one-byte writes count as their buffers, so that many of them stop the writer")
    func manyPieces() throws {
        let lab = try Lab()
        let owner = Owner()
        lab.wire.owner = owner
        for _ in 0..<1_023 { lab.wire.write(ByteBuffer(string: "x")) }
        #expect(lab.wire.isWritable)
        lab.wire.write(ByteBuffer(string: "x"))
        #expect(!lab.wire.isWritable && owner.changes == 0)
        lab.stopper.isOpen = true
        lab.wire.flush()
        #expect(lab.wire.isWritable && owner.changes == 1)
        lab.end()
    }

    @Test("a channel that never becomes active releases its owner when its handler is removed")
    func neverActive() throws {
        let lab = try Lab(isActive: false)
        let owner = Owner()
        lab.wire.owner = owner
        // Such a channel never calls `channelInactive`.
        lab.wire.handlerRemoved(context: try lab.channel.pipeline.syncOperations.context(handler: lab.wire))
        #expect(owner.closed == 1 && lab.wire.owner == nil)
        lab.end()
    }

    @Test("a closed connection gets no owner, and its requests are not served")
    func gone() throws {
        let lab = try Lab()
        lab.wire.close()
        lab.reader.takeBack(ByteBuffer(string: Self.request))
        #expect(lab.server.counts.refused == 0 && lab.wire.owner == nil)
        lab.reader.close(saying: ByteBuffer(string: "x"))
        #expect(lab.wire.owner == nil)
        lab.end()
    }

    @Test("an empty line before a request may arrive in two reads")
    func emptyLine() throws {
        let lab = try Lab()
        lab.stopper.isOpen = true
        try lab.send("\r")
        try lab.send("\n\r")
        try lab.send("\n" + Self.request)
        #expect(try lab.sent().hasPrefix("HTTP/1.1 404 "))
        lab.end()
    }

    @Test("memory stays bounded for empty lines before a request that are split between reads")
    func manyEmptyLines() throws {
        let lab = try Lab()
        lab.stopper.isOpen = true
        try lab.send("\r")
        let lines = String(repeating: "\n\r", count: 32 * 1024)
        for _ in 0..<64 { try lab.send(lines) }
        #expect(lab.reader.input.storageCapacity <= 256 * 1024)
        try lab.send("\n" + Self.request)
        #expect(try lab.sent().hasPrefix("HTTP/1.1 404 "))
        lab.end()
    }

    @Test("a reset after the peer's end of input is not a failure: all data has arrived", arguments: [false, true])
    func failureAndEnd(endsFirst: Bool) throws {
        let lab = try Lab()
        let owner = Owner()
        lab.wire.owner = owner
        lab.stopper.delaysClose = true
        if endsFirst { lab.channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed) }
        lab.channel.pipeline.fireErrorCaught(ChannelError.alreadyClosed)
        if !endsFirst { lab.channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed) }
        #expect(lab.wire.hasFailed == !endsFirst && owner.ends == 1)
        lab.stopper.delaysClose = false
        lab.end()
    }

    @Test("a socket that a failed write closed has failed, where its peer had not ended")
    func failedWrite() throws {
        let rows: [(ChannelEvent?, Bool, Bool)] = [
            (nil, true, true), (.inputClosed, true, false), (.outputClosed, true, false), (nil, false, false),
        ]
        for (event, halfCloses, fails) in rows {
            let channel = EmbeddedChannel()
            let wire = Wire(now: channel.eventLoop.now, halfCloses: halfCloses)
            try channel.pipeline.syncOperations.addHandler(wire)
            try channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
            if let event { channel.pipeline.fireUserInboundEventTriggered(event) }
            // NIO tells nothing else of a write that meets a reset before a read does.
            channel.pipeline.fireChannelInactive()
            #expect(wire.hasFailed == fails)
            _ = try? channel.finish(acceptAlreadyClosed: true)
        }
    }

    @Test("a reset waits until the peer has received the written bytes, but not for ever", arguments: [false, true])
    func resetAfterDelivery(isTaken: Bool) throws {
        let waiting = NIOLockedValueBox(100)
        let channel = EmbeddedChannel()
        let wire = Wire(now: channel.eventLoop.now) { _ in waiting.withLockedValue { $0 } }
        try channel.pipeline.syncOperations.addHandler(wire)
        try channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        wire.write(ByteBuffer(string: "x"))
        wire.resetAfterDelivery(within: .seconds(5))
        channel.embeddedEventLoop.advanceTime(by: .seconds(4))
        #expect(channel.isActive)
        if isTaken { waiting.withLockedValue { $0 = 0 } }
        channel.embeddedEventLoop.advanceTime(by: .milliseconds(100))
        #expect(channel.isActive == !isTaken)
        channel.embeddedEventLoop.advanceTime(by: .seconds(1))
        #expect(!channel.isActive)
        _ = try? channel.finish(acceptAlreadyClosed: true)
    }

    @Test("connections to origins from before the machine slept are not used again")
    func sleep() throws {
        let elapsed = NIOLockedValueBox(Duration.zero)
        let (awake, start) = (NIODeadline.now(), ContinuousClock.now)
        let pool = OriginPool(limits: ProxyLimits()) {
            (awake, start + elapsed.withLockedValue { $0 })
        }
        let (client, origin) = (try Lab(), try Lab())
        let destination = Destination(try Host("a.test"), port: 80)
        pool.keep(origin.wire, to: destination, of: client.wire, now: awake)
        #expect(pool.take(destination, for: client.wire, isReplayable: true) === origin.wire)
        pool.keep(origin.wire, to: destination, of: client.wire, now: awake)
        elapsed.withLockedValue { $0 = .seconds(3_600) }
        #expect(pool.take(destination, for: client.wire, isReplayable: true) == nil)
        #expect(!origin.channel.isActive && pool.isEmpty)
        client.end()
        origin.end()
    }

    @Test("a kept connection may close later than its pool ends, as one with TLS does")
    func lateClose() throws {
        let (client, origin) = (try Lab(), try Lab())
        origin.stopper.delaysClose = true
        do {
            let pool = OriginPool(limits: ProxyLimits())
            pool.keep(origin.wire, to: Destination(try Host("a.test"), port: 80), of: client.wire, now: .now())
            pool.closeAll()
        }
        #expect(origin.channel.isActive)
        origin.stopper.delaysClose = false
        origin.end()
        #expect(!origin.channel.isActive)
        client.end()
    }

    @Test("TLS that ends without a word ends a tunnel at once, and not as an orderly end of one direction")
    func truncatedTunnel() throws {
        let client = try Lab()
        let origin = try Lab()
        Tunnel(client.server, client: client.wire, origin: origin.wire).begin(fromClient: ByteBuffer(string: "x"))
        origin.stopper.delaysClose = true
        origin.channel.pipeline.fireErrorCaught(ChannelError.alreadyClosed)
        #expect(client.channel.isActive)
        origin.channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        #expect(!client.channel.isActive)
        origin.stopper.delaysClose = false
        client.end()
        origin.end()
    }

    @Test("the first bytes of the next request do not keep the buffer of a large read")
    func smallRest() throws {
        var large = ByteBuffer(repeating: 0x20, count: 256 * 1024)
        let piece = large.readSlice(length: 1)
        let rest = try #require(piece)
        #expect(rest.storageCapacity >= 256 * 1024 && rest.compacted().storageCapacity <= 64)
        #expect(rest.compacted() == rest)
    }

    @Test("connections are counted by IPv4 address and by IPv6 /64 network")
    func clients() throws {
        func client(_ text: String) throws -> IPAddress { try #require(IPAddress(text)).ofSubscriber }
        #expect(try client("::ffff:192.0.2.1") == client("192.0.2.1"))
        #expect(try client("2001:db8::1") == client("2001:db8::ffff:0:0:1"))
        #expect(try client("2001:db8::1") != client("2001:db8:0:1::1"))
        let one = try client("192.0.2.1")
        #expect(ProxyLimits().connectionsPerClient(at: IPAddress(v4: 0x7f00_0001)) == .max)
        #expect(ProxyLimits().connectionsPerClient(at: one) == 1_000)
        // A proxy that listens on all addresses sees IPv4 clients as mapped addresses.
        #expect(ProxyLimits().connectionsPerClient(at: try #require(IPAddress("::ffff:127.0.0.1"))) == .max)
    }
}
