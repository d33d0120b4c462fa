// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers
import NIOCore
import NIOPosix

/// A body of several parts, read one after the other while it is sent: at no time does more than a piece of it stand in memory.
struct SegmentedBody: AsyncSequence, Sendable {
    typealias Element = ByteBuffer

    /// One part.
    enum Segment: Hashable, Sendable {
        case bytes([UInt8])
        case file(String)
        /// An open file, such as standard input; it is not closed.
        case descriptor(FileDescriptor)
    }

    private let segments: [Segment]
    private let meter: UploadMeter

    init(_ segments: [Segment], meter: UploadMeter) {
        self.segments = segments
        self.meter = meter
    }

    func makeAsyncIterator() -> Iterator { Iterator(segments: segments[...], meter: meter) }

    /// Reads on NIO's thread pool, since a disk or a pipe may keep its reader waiting.
    struct Iterator: AsyncIteratorProtocol {
        private static let pieceSize = 128 * 1024

        fileprivate var segments: ArraySlice<Segment>
        fileprivate let meter: UploadMeter
        private var open: OpenFile?

        fileprivate init(segments: ArraySlice<Segment>, meter: UploadMeter) {
            self.segments = segments
            self.meter = meter
        }

        mutating func next() async throws -> ByteBuffer? {
            while true {
                if let file = open {
                    let bytes = try await NIOThreadPool.singleton.runIfActive {
                        try file.descriptor.read(atMost: Self.pieceSize)
                    }
                    if !bytes.isEmpty { return piece(bytes) }
                    open = nil
                }
                switch segments.popFirst() {
                case nil: return nil
                case .bytes(let bytes) where bytes.isEmpty: continue
                case .bytes(let bytes): return piece(bytes)
                case .descriptor(let descriptor): open = OpenFile(descriptor, isOwned: false)
                case .file(let path):
                    do {
                        open = OpenFile(try FileDescriptor.open(reading: path), isOwned: true)
                    } catch {
                        throw CommandFailure(.readFailed, "the file \(path) cannot be read: \(error)")
                    }
                }
            }
        }

        private func piece(_ bytes: [UInt8]) -> ByteBuffer {
            meter.add(bytes.count)
            return ByteBuffer(bytes: bytes)
        }
    }

    /// Closes a file when nobody reads it any more, however the upload ended.
    private final class OpenFile: Sendable {
        let descriptor: FileDescriptor
        private let isOwned: Bool

        init(_ descriptor: FileDescriptor, isOwned: Bool) {
            self.descriptor = descriptor
            self.isOwned = isOwned
        }

        deinit {
            if isOwned { try? descriptor.close() }
        }
    }
}

/// Counts the bytes of a body that were handed to the client.
final class UploadMeter: Sendable {
    /// Guards the count.
    private let bytes = NIOLockedValueBox<Int64>(0)

    var count: Int64 { bytes.withLockedValue { $0 } }

    func add(_ count: Int) { bytes.withLockedValue { $0 += Int64(count) } }

    /// Begins to count anew, for a body that is sent again.
    func restarted(_ body: SegmentedBody) -> SegmentedBody {
        bytes.withLockedValue { $0 = 0 }
        return body
    }
}
