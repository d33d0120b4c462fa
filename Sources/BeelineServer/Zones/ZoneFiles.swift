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
        /// Of every file that was read, included ones too; nil where it could not be.
        var stamps: [String: Stamp?] = [:]
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
        use(try read())
    }

    /// What is served.
    var set: ZoneSet { state.withLockedValue { $0.set } }

    /// Reads all files again if one of them was changed.
    ///
    /// - Returns: Whether they were read.
    /// - Throws: ``ServerError``; what was served before is served on.
    @discardableResult
    func reload() throws(ServerError) -> Bool {
        let stamps = state.withLockedValue { $0.stamps }
        guard stamps.contains(where: { Self.stamp($0.key) != $0.value }) else { return false }
        use(try read())
        return true
    }

    /// Reads all files. What is served stays as it is: ``use(_:)`` changes it.
    func read() throws(ServerError) -> ZoneSet {
        var stamps: [String: Stamp?] = [:]
        // What is wrong is not read again until it changes.
        defer { state.withLockedValue { [stamps] in $0.stamps = stamps } }
        func open(_ path: String) -> [UInt8]? {
            // Taken before: what is written while we read is read again.
            stamps.updateValue(Self.stamp(path), forKey: path)
            return FileManager.default.contents(atPath: path).map { [UInt8]($0) }
        }
        var zones: [Zone] = []
        for path in paths {
            guard let octets = open(path) else { throw ServerError(.badZone, "\(path) cannot be read") }
            do throws(ServerError) {
                zones.append(Zone(try ZoneFile(parsing: octets, at: path, including: open)))
            } catch {
                throw ServerError(.badZone, "\(path), \(error.message)")
            }
        }
        return ZoneSet(zones)
    }

    /// Serves what was read.
    func use(_ set: ZoneSet) { state.withLockedValue { $0.set = set } }

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
