// SPDX-License-Identifier: Apache-2.0

#if Redis
import BeelineTesting
import Dispatch
import NIOConcurrencyHelpers
import Names
import Testing

@testable import BeelineRedis

@Suite("The place of a server", .timeLimit(.minutes(1)))
struct RedisPlaceTests {
    @Test("callers that wait for the same lookup all get its result")
    func sharedLookup() async throws {
        let gate = DispatchSemaphore(value: 0)
        let place = RedisPlace("redis.test") { _ in
            gate.wait()
            return .success([IPAddress(v4: 0x7f00_0001)])
        }
        let started = NIOLockedValueBox(0)
        let results = await withTaskGroup(of: Int?.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    await withCheckedContinuation { done in
                        // On threads of their own: the call blocks.
                        DispatchQueue(label: "beeline.tests.place").async {
                            started.withLockedValue { $0 += 1 }
                            done.resume(returning: try? place.addresses().count)
                        }
                    }
                }
            }
            try? await eventually("four calls") { started.withLockedValue { $0 } >= 4 }
            // A caller that comes late starts a lookup of its own.
            for _ in 0..<4 { gate.signal() }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(results == [1, 1, 1, 1])
        place.end()
        #expect(throws: RedisFault.self) { try place.addresses() }
    }
}
#endif
