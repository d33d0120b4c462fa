// SPDX-License-Identifier: Apache-2.0

import HTTPDNS
import NIOConcurrencyHelpers

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// Zone files, read again when they change. One that became wrong leaves what it said before.
final class ZoneFiles: Sendable {
    private struct State {
        var set = ZoneSet()
        var stamps: [String: Stamp] = [:]
    }

    /// What tells whether a file was changed.
    private struct Stamp: Hashable {
        var seconds: Int64
        var nanoseconds: Int64
        var size: Int64
        var number: UInt64
    }

    let paths: [String]
    private let state = NIOLockedValueBox(State())

    /// Reads all files.
    ///
    /// - Throws: ``ServerError`` with code `badZone`, the file and the line.
    init(_ paths: [String]) throws(ServerError) {
        self.paths = paths
        try reload(always: true)
    }

    /// What is served.
    var set: ZoneSet { state.withLockedValue { $0.set } }

    /// Reads all files again if one of them was changed.
    ///
    /// - Returns: Whether they were read.
    /// - Throws: ``ServerError``; what was served before is served on.
    @discardableResult
    func reload(always: Bool = false) throws(ServerError) -> Bool {
        var stamps: [String: Stamp] = [:]
        for path in paths { stamps[path] = Self.stamp(path) }
        let known = state.withLockedValue { state in
            defer { state.stamps = stamps }
            return state.stamps
        }
        guard always || stamps != known else { return false }
        var zones: [Zone] = []
        for path in paths {
            guard let data = FileManager.default.contents(atPath: path) else {
                throw ServerError(.badZone, "\(path) cannot be read")
            }
            do throws(ServerError) {
                zones.append(Zone(try ZoneFile(parsing: [UInt8](data))))
            } catch {
                throw ServerError(.badZone, "\(path), \(error.message)")
            }
        }
        let set = ZoneSet(zones)
        state.withLockedValue { $0.set = set }
        return true
    }

    private static func stamp(_ path: String) -> Stamp? {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        #if canImport(Darwin)
        let time = status.st_mtimespec
        #else
        let time = status.st_mtim
        #endif
        return Stamp(
            seconds: Int64(time.tv_sec),
            nanoseconds: Int64(time.tv_nsec),
            size: Int64(status.st_size),
            number: UInt64(truncatingIfNeeded: status.st_ino)
        )
    }
}
