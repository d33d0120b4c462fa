// SPDX-License-Identifier: Apache-2.0

import Beeline
import DirectHTTP
import NIOConcurrencyHelpers
import NIOCore
import NIOEmbedded
import Names
import Testing

@testable import BeelineProxy

@Suite("Slow readers and closed sides on fake time")
struct WireDeliveryTests {
    private typealias Lab = WireLab

    @Test(
        "the last response stays in an open socket until the client has received it, or is reset after 10 minutes",
        arguments: [false, true],
        [false, true]
    )
    func undeliveredLastResponse(isFlushed: Bool, isReceived: Bool) throws {
        let waiting = NIOLockedValueBox(100)
        let lab = try Lab(unacknowledgedBytes: { _ in waiting.withLockedValue { $0 } })
        lab.stopper.isOpen = isFlushed
        // An embedded channel would close both directions.
        lab.stopper.delaysClose = true
        lab.reader.close(saying: ByteBuffer(string: "x"))
        let loop = lab.channel.embeddedEventLoop
        func check(after time: TimeAmount) {
            loop.advanceTime(by: time)
            lab.reader.check(lab.wire, now: loop.now)
        }
        check(after: .zero)
        check(after: .minutes(9))
        waiting.withLockedValue { $0 -= 1 }
        check(after: .minutes(1))
        check(after: .minutes(9))
        #expect(lab.channel.isActive)
        if isReceived {
            waiting.withLockedValue { $0 = 0 }
            lab.stopper.isOpen = true
            lab.wire.flush()
        }
        lab.stopper.delaysClose = false
        check(after: .seconds(1))
        #expect(lab.channel.isActive)
        check(after: .seconds(59))
        #expect(!lab.channel.isActive && lab.wire.hasFailed == !isReceived)
        lab.end()
    }

    /// A tunnel whose server has ended, and whose client has not received `waiting` bytes.
    private func slowDownload(
        first: String = ""
    ) throws -> (waiting: NIOLockedValueBox<Int>, client: Lab, origin: Lab, tunnel: Tunnel) {
        let waiting = NIOLockedValueBox(100)
        let client = try Lab(unacknowledgedBytes: { _ in waiting.withLockedValue { $0 } })
        let origin = try Lab()
        // An embedded channel would close both directions.
        client.stopper.delaysClose = true
        let tunnel = Tunnel(client.server, client: client.wire, origin: origin.wire)
        tunnel.begin(fromClient: ByteBuffer(), fromOrigin: ByteBuffer(string: first))
        origin.channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        client.stopper.delaysClose = false
        return (waiting, client, origin, tunnel)
    }

    @Test("a tunnel whose server has ended lasts while the client receives the rest, however slowly")
    func slowReaderAfterTheEnd() throws {
        let (waiting, client, origin, tunnel) = try slowDownload()
        let start = client.channel.eventLoop.now
        for minute in 1...10 {
            waiting.withLockedValue { $0 -= 1 }
            tunnel.check(client.wire, now: start + .minutes(Int64(minute)))
        }
        tunnel.check(client.wire, now: start + .minutes(11))
        #expect(client.channel.isActive && origin.channel.isActive)
        tunnel.check(client.wire, now: start + .minutes(12))
        #expect(!client.channel.isActive && !origin.channel.isActive, "nothing was received for 2 minutes")
        client.end()
        origin.end()
    }

    @Test("checks of a tunnel that is over do not shorten its client's time to receive the last bytes")
    func slowReaderAfterTheClose() throws {
        let (waiting, client, origin, tunnel) = try slowDownload(first: "x")
        origin.end()
        let loop = client.channel.embeddedEventLoop
        for _ in 1...3 {
            waiting.withLockedValue { $0 -= 1 }
            loop.advanceTime(by: .seconds(118))
            tunnel.check(client.wire, now: loop.now)
            loop.advanceTime(by: .seconds(2))
            #expect(client.channel.isActive)
        }
        loop.advanceTime(by: .seconds(118))
        tunnel.check(client.wire, now: loop.now)
        #expect(client.channel.isActive)
        loop.advanceTime(by: .seconds(2))
        #expect(!client.channel.isActive, "nothing was received for 2 minutes")
        client.end()
    }

    @Test("a client that receives one byte at a time does not hold a half-ended tunnel for ever")
    func endlessReaderAfterTheEnd() throws {
        let (waiting, client, origin, tunnel) = try slowDownload()
        let start = client.channel.eventLoop.now
        for minute in 0...62 {
            waiting.withLockedValue { $0 -= 1 }
            tunnel.check(client.wire, now: start + .minutes(Int64(minute)))
            #expect(client.channel.isActive && origin.channel.isActive, "minute \(minute)")
        }
        waiting.withLockedValue { $0 -= 1 }
        tunnel.check(client.wire, now: start + .minutes(63))
        #expect(!client.channel.isActive && !origin.channel.isActive)
        client.end()
        origin.end()
    }

    /// A client that has closed its sending side, and an origin that has not received all of its upload.
    private struct SlowUpload {
        let client: Lab
        private let origin: Lab
        private let waiting = NIOLockedValueBox(100)
        private let start: NIODeadline

        init() throws {
            client = try Lab()
            origin = try Lab(unacknowledgedBytes: { [waiting] _ in waiting.withLockedValue { $0 } })
            client.stopper.isOpen = true
            origin.stopper.delaysClose = true
            let destination = Destination(try Host("a.test"), port: 80)
            // The first POST of a client takes no other kept connection.
            origin.wire.isTied = true
            client.server.origins.keep(origin.wire, to: destination, of: client.wire, now: .now())
            try client.send("POST http://a.test/ HTTP/1.1\r\nHost: a.test\r\nContent-Length: 5\r\n\r\nhello")
            client.channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
            start = .now()
        }

        /// The origin receives some bytes, and the proxy checks its limits.
        func check(minute: Int, received: Int) {
            waiting.withLockedValue { $0 -= received }
            client.wire.owner?.check(client.wire, now: start + .minutes(Int64(minute)))
        }

        func end() {
            origin.stopper.delaysClose = false
            client.end()
            origin.end()
        }
    }

    @Test("a half-closed client gets no 504 while a slow origin receives its upload")
    func slowReaderOfAnUpload() throws {
        let upload = try SlowUpload()
        for minute in 1...10 { upload.check(minute: minute, received: 1) }
        #expect(try upload.client.sent() == "" && upload.client.channel.isActive)
        upload.check(minute: 12, received: 0)
        #expect(try upload.client.sent().hasPrefix("HTTP/1.1 504 "))
        upload.end()
    }

    @Test("an origin that receives one byte at a time does not hold a half-closed client for ever")
    func endlessReaderOfAnUpload() throws {
        let upload = try SlowUpload()
        for minute in 0...62 { upload.check(minute: minute, received: 1) }
        #expect(try upload.client.sent() == "" && upload.client.channel.isActive)
        upload.check(minute: 63, received: 1)
        #expect(try upload.client.sent().hasPrefix("HTTP/1.1 504 "))
        upload.end()
    }
}
