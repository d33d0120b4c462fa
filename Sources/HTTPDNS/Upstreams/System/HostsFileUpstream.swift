// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
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
    /// What was read. The lock is held while the file is read, so that it is read once.
    private let state = NIOLockedValueBox<(stamp: Stamp?, table: HostsTable)>((nil, HostsTable()))

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
        let table: HostsTable
        do {
            table = try await NIOThreadPool.singleton.runIfActive { try self.current() }
        } catch let error as UpstreamError {
            throw error
        } catch {
            throw UpstreamError(.unreachable, "\(path) cannot be read: \(error)")
        }
        return try await FixedUpstream(table, name: name, ttl: Self.ttl).answer(question)
    }

    /// The table of the file as it is now; blocks.
    private func current() throws(UpstreamError) -> HostsTable {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else {
            throw UpstreamError(.unreachable, "\(path) cannot be read: \(String.words(forError: errno))")
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
        let result = state.withLockedValue { state -> Result<HostsTable, UpstreamError> in
            // A pipe can be read only once, and its stamp changes while it is written.
            let isPipe = status.st_mode & S_IFMT != S_IFREG
            if state.stamp == stamp || (isPipe && state.stamp != nil) { return .success(state.table) }
            guard let octets = Self.read(path) else {
                return .failure(
                    UpstreamError(.unreachable, "\(path) cannot be read, or is larger than \(Self.maxSize)")
                )
            }
            state = (stamp, HostsTable(parsing: String(decoding: octets, as: UTF8.self)))
            return .success(state.table)
        }
        return try result.get()
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
