// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Testing

@testable import BeelineProxy

@Suite("The body of a request to the gateway", .timeLimit(.minutes(1)))
struct BodyPipeTests {
    @Test("a second reader gets an error, and the first one still gets the next piece")
    func secondReader() async throws {
        let pipe = BodyPipe {}
        await withTaskGroup(of: Result<ByteBuffer?, any Error>.self) { group in
            for _ in 0..<2 {
                group.addTask {
                    var reader = pipe.makeAsyncIterator()
                    do {
                        return .success(try await reader.next())
                    } catch {
                        return .failure(error)
                    }
                }
            }
            // The second reader ends at once.
            let second = await group.next()
            #expect(throws: BodyPipe.Broken.self) { try second?.get() }
            #expect(pipe.add(ByteBuffer(string: "piece")))
            let first = await group.next()
            #expect((try? first?.get()) == ByteBuffer(string: "piece"))
        }
    }
}
