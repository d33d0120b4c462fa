// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationNetworking)
import BeelineTesting
import Foundation
import FoundationNetworking
import NIOConcurrencyHelpers
import Testing

@testable import BeelineURLSession

/// Checks that the private parts of Foundation that `TaskInsides` reads exist. If one is missing, uploads through
/// `BeelineURLProtocol` fail (body), delegates get each body as a whole (isForDelegate), or cookies and timeouts of a
/// session are ignored.
@Suite("Foundation on Linux: private parts of a task")
struct TaskInsidesTests {
    func insides(_ make: (URLSession, URL) throws -> URLSessionTask) async throws -> TaskInsides {
        let facts = ProtocolFactsTests()
        let found = NIOLockedValueBox<Found?>(nil)
        let recorder = Recorder()
        let session = facts.session(delegate: recorder) { loader, client in
            found.withLockedValue { $0 = loader.task.map { Found(insides: TaskInsides($0)) } }
            ProtocolFactsTests.answer()(loader, client)
        }
        try make(session, facts.url).resume()
        try await eventually("the task") { found.withLockedValue { $0 } != nil }
        return try #require(found.withLockedValue { $0 }).insides
    }

    /// `@unchecked Sendable`: passed once, from the queue to the test.
    struct Found: @unchecked Sendable {
        let insides: TaskInsides
    }

    @Test("a second call for a class with other names returns the properties of those names")
    func otherNamesOfOneClass() {
        final class Sample {
            let first = 1
            let second = 2
        }
        let sample = Sample()
        #expect(TaskInsides.members(["first"], of: sample)["first"] as? Int == 1)
        #expect(TaskInsides.members(["second"], of: sample)["second"] as? Int == 2)
        #expect(TaskInsides.members(["first"], of: sample).count == 1)
    }

    @Test("a task has a session and a work queue")
    func session() async throws {
        let insides = try await insides { $0.dataTask(with: $1) }
        #expect(insides.session?.delegate is Recorder && insides.workQueue != nil)
    }

    @Test("without a cache, the protocol object is made on the work queue")
    func madeOnQueue() async throws {
        #expect(try await insides { $0.dataTask(with: $1) }.isOnWorkQueue)
        let session = URLSession(configuration: .ephemeral)
        let task = session.dataTask(with: try URL(fromTest: "http://a.test/"))
        #expect(!TaskInsides(task).isOnWorkQueue)
        TaskInsides(task).workQueue?.sync { #expect(TaskInsides(task).isOnWorkQueue) }
        let other = TaskInsides(
            URLSession(configuration: .ephemeral).dataTask(with: try URL(fromTest: "http://a.test/"))
        )
        other.workQueue?.sync { #expect(!TaskInsides(task).isOnWorkQueue) }
        #expect(other.workQueue != nil)
    }

    @Test("a task shows whether a delegate or a handler gets the response")
    func receiver() async throws {
        #expect(try await insides { $0.dataTask(with: $1) }.isForDelegate == true)
        #expect(try await insides { $0.dataTask(with: $1) { _, _, _ in } }.isForDelegate == false)
        #expect(try await insides { $0.uploadTask(with: URLRequest("POST", $1), from: Data()) }.isForDelegate == true)
        #expect(
            try await insides { $0.uploadTask(with: URLRequest("POST", $1), from: Data()) { _, _, _ in } }.isForDelegate
                == false
        )
    }

    @Test("a task shows the body of an upload")
    func body() async throws {
        let data = Data("secret".utf8)
        let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try data.write(to: file)
        guard
            case .data(let found) = try await insides({ $0.uploadTask(with: URLRequest("POST", $1), from: data) }).body
        else { throw NoStorage() }
        #expect(Data(found) == data)
        guard
            case .file(let url) = try await insides({ $0.uploadTask(with: URLRequest("POST", $1), fromFile: file) })
                .body
        else { throw NoStorage() }
        #expect(url == file)
        let streamed = try await insides { $0.uploadTask(withStreamedRequest: URLRequest("POST", $1)) }
        #expect(streamed.body == nil && streamed.session != nil)
        guard case .some(.none) = try await insides({ $0.dataTask(with: $1) }).body else { throw NoStorage() }
    }
}
#endif
