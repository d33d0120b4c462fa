// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers
import Names

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// A file in the form of hosts(5) that is read again when it has changed. It may name any address.
public final class HostsFileUpstream: Upstream {
    /// The name in resolutions and errors.
    public let name: String
    /// What kind of upstream it is.
    public let kind = UpstreamKind.fixed
    private let path: String
    /// What reads the file: a pipe, or a disk of another machine, may be silent for as long as it likes. There is one thread,
    /// so that a file is read once.
    private let work = BlockingWork(threads: 1, maxWaiting: 256)
    /// What was read.
    private let state = NIOLockedValueBox<(stamp: Stamp?, table: HostsTable)>((nil, HostsTable()))

    /// Questions that wait for the file.
    var waiting: Int { work.waiting }

    /// What tells one state of a file from another.
    private struct Stamp: Equatable {
        var seconds: Int
        var nanoseconds: Int
        var size: Int64
        var inode: UInt64
    }

    /// The largest file that is read, in octets.
    public static let maxSize = 64 << 20

    /// How long answers are kept by the resolver: a change of the file is seen after that.
    public static let ttl = Duration.seconds(1)

    /// The file at `path`; it need not exist yet.
    public init(path: String) {
        self.path = path
        name = "hosts:\(path)"
    }

    /// Answers a question; see ``Upstream/answer(_:)``.
    public func answer(_ question: Question) async throws(UpstreamError) -> Answer {
        let table = try await work.run { self.current() }
        return try await FixedUpstream(table, name: name, ttl: Self.ttl).answer(question)
    }

    /// The table of the file as it is now; blocks.
    private func current() -> Result<HostsTable, UpstreamError> {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else {
            let reason = String.words(forError: errno)
            return .failure(UpstreamError(.unreachable, "\(path) cannot be read: \(reason)"))
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
        guard let octets = Self.read(path) else {
            return .failure(UpstreamError(.unreachable, "\(path) cannot be read, or is larger than \(Self.maxSize)"))
        }
        let table = HostsTable(parsing: String(decoding: octets, as: UTF8.self))
        state.withLockedValue { $0 = (stamp, table) }
        return .success(table)
    }

    /// The content of a file or a pipe; nil where it cannot be read or is too large.
    private static func read(_ path: String) -> [UInt8]? {
        guard let file = unsafe fopen(path, "r") else { return nil }
        defer { unsafe fclose(file) }
        var octets: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = unsafe fread(&piece, 1, piece.count, file)
            octets += piece[..<count]
            guard octets.count <= Self.maxSize else { return nil }
            if count < piece.count { return unsafe ferror(file) == 0 ? octets : nil }
        }
    }
}
