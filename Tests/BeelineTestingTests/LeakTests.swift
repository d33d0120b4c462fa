// SPDX-License-Identifier: Apache-2.0

import LibC
import Testing

@testable import BeelineTesting

@Suite(.timeLimit(.minutes(1))) struct LeakTests {
    @Test(arguments: ["127.0.0.1", "::1"])
    func aSocketThatIsLeftOpenIsALeak(address: String) async throws {
        let server = try await RawServer.start(addresses: [address]) { try await $0.hold() }
        var left: RawConnection?
        do {
            try await expectNoLeak(to: server.endpoints, within: .milliseconds(50)) {
                left = try await RawConnection.connect(to: server.endpoint)
            }
            Issue.record("the leak was not seen")
        } catch let error as TestingError {
            #expect(error.code == .leaked && error.message.contains(": 0 before, 1 after"))
        }
        #expect(OpenDescriptors.sockets(connectedTo: server.endpoints) == 1)
        await left?.close()
        try await expectNoLeak(to: server.endpoints) {
            await (try RawConnection.connect(to: server.endpoint)).close()
        }
        await server.stop()
    }

    @Test func aProcessHasDescriptors() {
        #expect(OpenDescriptors.count() >= 3)
        #if os(Linux)
        let usage = ProcessUsage.now
        #expect((usage.threads ?? 0) >= 1 && (usage.residentBytes ?? 0) > 1 << 20)
        #endif
    }

    #if os(Linux)
    /// A directory entry ends before the size of its type, which matters at the end of readable memory.
    @Test func anEntryOfADirectoryIsReadAtTheEndOfMemory() throws {
        let page = sysconf(CInt(_SC_PAGESIZE))
        let start = try #require(mmap(nil, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))
        defer { munmap(start, 2 * page) }
        #expect(mprotect(start + page, page, PROT_NONE) == 0)
        let offset = try #require(MemoryLayout<dirent>.offset(of: \.d_name))
        let entry = start + (page - (offset + 5)) / 8 * 8
        for (place, octet) in "1356\0".utf8.enumerated() {
            (entry + offset).storeBytes(of: octet, toByteOffset: place, as: UInt8.self)
        }
        #expect(OpenDescriptors.name(of: UnsafePointer(entry.assumingMemoryBound(to: dirent.self))) == "1356")
    }
    #endif
}
