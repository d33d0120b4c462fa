// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import NIOConcurrencyHelpers
import Names
import Testing

@testable import HTTPDNS

@Suite("The system's resolver")
struct SystemUpstreamTests {
    /// A `getaddrinfo` that blocks for names below `stuck` until the test ends it.
    final class StuckLookUp: Sendable {
        private let semaphore = DispatchSemaphore(value: 0)
        private let count = NIOLockedValueBox(0)

        var started: Int { count.withLockedValue { $0 } }

        func lookUp(_ name: String, _ families: Families) -> Result<[IPAddress], UpstreamError> {
            count.withLockedValue { $0 += 1 }
            if name.hasSuffix("stuck") { semaphore.wait() }
            return .success(addresses("192.0.2.1"))
        }

        func release() {
            for _ in 0..<100 { semaphore.signal() }
        }
    }

    @Test("localhost resolves to a loopback address of this machine")
    func localhost() async throws {
        let answer = try await SystemUpstream().answer(Question(host("localhost"), families: .v4))
        #expect(answer.v4 == .addresses(addresses("127.0.0.1"), ttl: nil))
        #expect(answer.v6 == nil)
    }

    @Test(
        "a name with a final dot is looked up as it is, after the hosts file, which the C library does not search for it"
    )
    func finalDot() async throws {
        let path = NSTemporaryDirectory() + "/beeline-hosts-\(UUID().uuidString)"
        try Data("192.0.2.7 printer.lan\n".utf8).write(to: URL(fileURLWithPath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }
        let asked = NIOLockedValueBox<[String]>([])
        let upstream = SystemUpstream(hostsFile: path) { name, _ in
            asked.withLockedValue { $0.append(name) }
            return .success(addresses("192.0.2.8"))
        }
        for (name, address) in [
            ("printer.lan.", "192.0.2.7"), ("other.lan.", "192.0.2.8"), ("printer.lan", "192.0.2.8"),
        ] {
            let answer = try await upstream.answer(Question(host(name), families: .v4))
            #expect(answer.v4?.addresses == addresses(address))
        }
        #expect(asked.withLockedValue { $0 } == ["other.lan.", "printer.lan"])
    }

    @Test("getaddrinfo reads addresses in text form, in both families")
    func bothFamilies() throws {
        for text in ["192.0.2.1", "2001:db8::1"] {
            #expect(try SystemUpstream.getAddresses(of: text, families: .both).get() == addresses(text))
        }
    }

    @Test("a task that is cancelled leaves a blocked lookup at once, and other lookups continue")
    func stuckLookUpBlocksNobody() async throws {
        let stuck = StuckLookUp()
        defer { stuck.release() }
        let upstream = SystemUpstream(threads: 2, lookUp: stuck.lookUp)
        let hung = Task { try await upstream.answer(Question(host("one.stuck"))) }
        await until { stuck.started == 1 }
        let answer = try await upstream.answer(Question(host("fine.example"), families: .v4))
        #expect(answer.v4?.addresses == addresses("192.0.2.1"))
        hung.cancel()
        let error = await #expect(throws: UpstreamError.self) { try await hung.value }
        #expect(error?.code == .cancelled)
    }

    @Test("when all threads are blocked, a limited number of lookups waits, and a cancelled one is not looked up")
    func boundedQueue() async throws {
        let stuck = StuckLookUp()
        let upstream = SystemUpstream(threads: 1, maxWaiting: 2, lookUp: stuck.lookUp)
        let first = Task { try await upstream.answer(Question(host("one.stuck"))) }
        await until { stuck.started == 1 }
        let second = Task { try await upstream.answer(Question(host("two.stuck"))) }
        await until { upstream.waiting == 2 }
        let error = await #expect(throws: UpstreamError.self) {
            try await upstream.answer(Question(host("three.example")))
        }
        #expect(error?.code == .busy)
        second.cancel()
        _ = try? await second.value
        stuck.release()
        #expect(try await first.value.v4?.addresses == addresses("192.0.2.1"))
        await until { upstream.waiting == 0 }
        #expect(stuck.started == 1)
    }
}
