// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import NIOConcurrencyHelpers
import NIOCore

@testable import DirectHTTP

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The same piece a number of times, followed by an error if `failing` is set.
struct PieceSequence: AsyncSequence, Sendable {
    struct Broken: Error {}

    let piece: ByteBuffer
    let count: Int
    let failing: Bool

    init(_ piece: ByteBuffer, count: Int, failing: Bool = false) {
        self.piece = piece
        self.count = count
        self.failing = failing
    }

    struct AsyncIterator: AsyncIteratorProtocol {
        let sequence: PieceSequence
        var given = 0

        mutating func next() async throws -> ByteBuffer? {
            guard given < sequence.count else {
                if sequence.failing { throw Broken() }
                return nil
            }
            given += 1
            return sequence.piece
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(sequence: self) }
}

/// A temporary file that is deleted with its owner.
final class TemporaryFile: Sendable {
    let path: String

    init(bytes: [UInt8]) throws {
        path = FileManager.default.temporaryDirectory.path + "/beeline-test-\(UUID().uuidString)"
        try Data(bytes).write(to: URL(fileURLWithPath: path))
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }
}

/// A count that only rises.
final class Watermark: Sendable {
    private let mark = NIOLockedValueBox(0)

    var height: Int { mark.withLockedValue { $0 } }

    func rise() { mark.withLockedValue { $0 += 1 } }

    /// Returns when the count has not risen for a second.
    func settle() async throws {
        var (last, since) = (0, ContinuousClock.now)
        try await eventually("the end of the rise") {
            if height != last { (last, since) = (height, .now) }
            return ContinuousClock.now - since > .seconds(1)
        }
    }
}

extension EngineConfiguration {
    /// The settings of a handler without an engine.
    static func test(
        window: Int = 65_535,
        pingAfter: TimeAmount? = nil,
        keepIdle: TimeAmount = .hours(1)
    ) -> EngineConfiguration {
        var configuration = EngineConfiguration()
        configuration.bufferedBodyBytes = window
        configuration.pingAfter = pingAfter.map { Duration($0) }
        configuration.pingTimeout = .seconds(5)
        configuration.keepIdle = Duration(keepIdle)
        return configuration
    }
}
