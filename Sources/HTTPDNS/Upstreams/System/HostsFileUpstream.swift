// SPDX-License-Identifier: Apache-2.0

import LibC
import NIOConcurrencyHelpers
package import Names

/// Answers from a file in the format of hosts(5), which is read again when it has changed. The file may contain any
/// address.
package final class HostsFileUpstream: TableUpstream {
    package let name: String
    package let kind = UpstreamKind.fixed
    private let path: String
    /// Reads the file, because a pipe or a network disk may block for any time. One thread, so that a file is read only
    /// once.
    private let work = BlockingWork(threads: 1, maxWaiting: 256)
    /// The table, and the stamp of the file it was read from.
    private let state = NIOLockedValueBox<(stamp: Stamp?, table: HostsTable)>((nil, HostsTable()))

    /// The number of questions that wait for the file.
    var waiting: Int { work.waiting }

    /// Identifies a version of the file.
    private struct Stamp: Equatable {
        var seconds: Int
        var nanoseconds: Int
        var size: Int64
        var inode: UInt64
    }

    /// The maximum file size, in octets.
    package static let maxSize = 64 << 20

    /// The TTL of answers; a change of the file is noticed after this time.
    package static let ttl = Duration.seconds(1)

    /// The file at `path`; it may be created later.
    package init(path: String) {
        self.path = path
        name = "hosts:\(path)"
    }

    /// Whether the file had a host when it was read last.
    package func has(_ host: Host) -> Bool { state.withLockedValue { $0.table[host] != nil } }

    package func answer(_ question: Question) async throws(UpstreamError) -> Answer {
        let table = try await work.run { self.current() }
        return try await FixedUpstream(table, name: name, ttl: Self.ttl).answer(question)
    }

    /// The table of the current file; blocks.
    private func current() -> Result<HostsTable, UpstreamError> {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else {
            return .failure(Self.unreadable(path, error: errno))
        }
        #if canImport(Darwin)
        let changed = status.st_mtimespec
        #else
        let changed = status.st_mtim
        #endif
        let stamp = Stamp(
            seconds: Int(changed.tv_sec),
            nanoseconds: Int(changed.tv_nsec),
            size: Int64(status.st_size),
            inode: UInt64(status.st_ino)
        )
        let known = state.withLockedValue { $0 }
        // A pipe can be read only once, and its stamp changes while it is written.
        let isPipe = status.st_mode & S_IFMT != S_IFREG
        if known.stamp == stamp || (isPipe && known.stamp != nil) { return .success(known.table) }
        let octets: [UInt8]
        do throws(UpstreamError) {
            octets = try Self.read(path)
        } catch {
            return .failure(error)
        }
        let table = HostsTable(parsing: String(decoding: octets, as: UTF8.self))
        state.withLockedValue { $0 = (stamp, table) }
        return .success(table)
    }

    /// The content of a file or a pipe.
    private static func read(_ path: String) throws(UpstreamError) -> [UInt8] {
        guard let file = unsafe fopen(path, "r") else { throw unreadable(path, error: errno) }
        defer { unsafe fclose(file) }
        var octets: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = unsafe fread(&piece, 1, piece.count, file)
            octets += piece[..<count]
            guard octets.count <= maxSize else {
                throw UpstreamError(.unreachable, "\(path) is larger than \(maxSize >> 20) MiB")
            }
            guard count < piece.count else { continue }
            guard unsafe ferror(file) == 0 else { throw unreadable(path, error: errno) }
            return octets
        }
    }

    private static func unreadable(_ path: String, error number: CInt) -> UpstreamError {
        UpstreamError(.unreachable, "\(path) cannot be read: \(String.words(forError: number))")
    }
}
