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

/// Zone files, read again when they change. One that became wrong leaves what it said before, and keeps no other from changing.
final class ZoneFiles: Sendable {
    /// What tells whether a file was changed.
    fileprivate struct Stamp: Hashable {
        var seconds: Int64
        var nanoseconds: Int64
        var size: Int64
        var number: UInt64
    }

    /// A zone, and what its files were like before they were read, included ones too; nil where one could not be read.
    struct Reading: Sendable {
        fileprivate(set) var zone: Zone
        fileprivate var stamps: [String: Stamp?]

        fileprivate var isOutOfDate: Bool { stamps.contains { ZoneFiles.stamp($0.key) != $0.value } }
    }

    private struct State {
        var readings: [Reading] = []
        var set = ZoneSet()
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

    /// Reads those files again that were changed, and serves what is right of them.
    ///
    /// - Returns: Whether any was read, and what is wrong, which is not read again until it changes.
    @discardableResult
    func reload() -> (hasRead: Bool, failures: [ServerError]) {
        var readings = state.withLockedValue { $0.readings }
        var failures: [ServerError] = []
        var hasRead = false
        for (index, path) in paths.enumerated() where readings[index].isOutOfDate {
            var stamps: [String: Stamp?] = [:]
            let result = Result { () throws(ServerError) in try Self.zone(path, &stamps) }
            // Somebody writes while we read: a part of a zone is none.
            if stamps.contains(where: { Self.stamp($0.key) != $0.value }) { continue }
            do throws(ServerError) {
                let zone = try result.get()
                if let other = readings.indices.first(where: { $0 != index && readings[$0].zone.apex == zone.apex }) {
                    throw Self.twice(zone, paths[other], path)
                }
                readings[index].zone = zone
            } catch {
                failures.append(error)
            }
            readings[index].stamps = stamps
            hasRead = true
        }
        if hasRead { use(readings) }
        return (hasRead, failures)
    }

    /// Reads all files. What is served stays as it is: ``use(_:)`` changes it.
    ///
    /// - Throws: ``ServerError`` with code `badZone`, the file and the line.
    func read() throws(ServerError) -> [Reading] {
        var readings: [Reading] = []
        var places: [DNSName: String] = [:]
        for path in paths {
            var stamps: [String: Stamp?] = [:]
            let zone = try Self.zone(path, &stamps)
            if let other = places.updateValue(path, forKey: zone.apex) { throw Self.twice(zone, other, path) }
            readings.append(Reading(zone: zone, stamps: stamps))
        }
        return readings
    }

    /// Serves what was read.
    func use(_ readings: [Reading]) {
        let set = ZoneSet(readings.map(\.zone))
        state.withLockedValue { $0 = State(readings: readings, set: set) }
    }

    private static func zone(_ path: String, _ stamps: inout [String: Stamp?]) throws(ServerError) -> Zone {
        func open(_ path: String) -> [UInt8]? {
            // Taken before: what is written while we read is read again.
            stamps.updateValue(stamp(path), forKey: path)
            return read(path)
        }
        guard let octets = open(path) else { throw ServerError(.badZone, "\(path) cannot be read") }
        do throws(ServerError) {
            return try withoutActuallyEscaping(open) { open throws(ServerError) in
                Zone(try ZoneFile(parsing: octets, at: path, including: open))
            }
        } catch {
            throw ServerError(.badZone, "\(path), \(error.message)")
        }
    }

    /// The content of a regular file, as far as it may be read. A pipe or a device may be silent for ever, or endless.
    private static func read(_ path: String) -> [UInt8]? {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
            let file = fopen(path, "r")
        else { return nil }
        defer { fclose(file) }
        var octets: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 65_536)
        // One octet too many shows that there are more than may be read.
        while octets.count <= ZoneFile.maxOctets {
            let count = fread(&piece, 1, piece.count, file)
            octets += piece[..<count]
            if count < piece.count { return ferror(file) == 0 ? octets : nil }
        }
        return octets
    }

    private static func twice(_ zone: Zone, _ first: String, _ second: String) -> ServerError {
        ServerError(.badZone, "\(second), the zone \(zone.apex) is in \(first) already")
    }

    fileprivate static func stamp(_ path: String) -> Stamp? {
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
