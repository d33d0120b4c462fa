// SPDX-License-Identifier: Apache-2.0

import DirectHTTP
import HTTPDNS
import NIOConcurrencyHelpers

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// Zone files, read again when they change. A file that becomes invalid keeps its previous content and does not block changes of
/// the other files.
final class ZoneFiles: Sendable {
    /// A zone and the stamps of its files, including included files, taken before they were read. A stamp is nil if the
    /// file is not a regular file.
    struct Reading: Sendable {
        fileprivate(set) var zone: AuthoritativeZone
        fileprivate var stamps: [String: FileStamp?]

        fileprivate var isOutOfDate: Bool { stamps.contains { FileStamp($0.key) != $0.value } }
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

    var set: ZoneSet { state.withLockedValue { $0.set } }

    /// Reads the changed files again and serves the valid ones.
    ///
    /// - Returns: Whether any file was read, and the errors. An invalid file is not read again until it changes.
    @discardableResult
    func reload() -> (hasRead: Bool, failures: [ServerError]) {
        var readings = state.withLockedValue { $0.readings }
        var failures: [ServerError] = []
        var hasRead = false
        for (index, path) in paths.enumerated() where readings[index].isOutOfDate {
            var stamps: [String: FileStamp?] = [:]
            let result = Result { () throws(ServerError) in try Self.zone(path, &stamps) }
            // The file changed during the read, so the content may be incomplete.
            if stamps.contains(where: { FileStamp($0.key) != $0.value }) { continue }
            do throws(ServerError) {
                let zone = try result.get()
                if let other = readings.indices.first(where: { $0 != index && readings[$0].zone.apex == zone.apex }) {
                    throw Self.duplicate(zone, first: paths[other], second: path)
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

    /// Reads all files without serving them. Call ``use(_:)`` to serve the result.
    ///
    /// - Throws: ``ServerError`` with code `badZone`, the file and the line.
    func read() throws(ServerError) -> [Reading] {
        var readings: [Reading] = []
        var places: [DNSName: String] = [:]
        for path in paths {
            var stamps: [String: FileStamp?] = [:]
            let zone = try Self.zone(path, &stamps)
            if let other = places.updateValue(path, forKey: zone.apex) {
                throw Self.duplicate(zone, first: other, second: path)
            }
            readings.append(Reading(zone: zone, stamps: stamps))
        }
        return readings
    }

    /// Serves the result of ``read()``.
    func use(_ readings: [Reading]) {
        let set = ZoneSet(readings.map(\.zone))
        state.withLockedValue { $0 = State(readings: readings, set: set) }
    }

    private static func zone(
        _ path: String,
        _ stamps: inout [String: FileStamp?]
    ) throws(ServerError) -> AuthoritativeZone {
        func open(_ path: String) -> [UInt8]? {
            // Takes the stamp before reading, so that a write during the read triggers another read.
            stamps.updateValue(FileStamp(path), forKey: path)
            return content(ofFileAt: path)
        }
        guard let octets = open(path) else { throw ServerError(.badZone, "\(path) cannot be read") }
        do throws(ServerError) {
            return try withoutActuallyEscaping(open) { open throws(ServerError) in
                AuthoritativeZone(try ZoneFile(parsing: octets, at: path, including: open))
            }
        } catch {
            throw ServerError(.badZone, "\(path), \(error.message)")
        }
    }

    private static func duplicate(_ zone: AuthoritativeZone, first: String, second: String) -> ServerError {
        ServerError(.badZone, "\(second): the zone \(zone.apex) is already in \(first)")
    }
}

/// Reads a regular file and stops once it exceeds ``ZoneFile/maxOctets``. Nil for a file that cannot be read, and for pipes and
/// devices, which may block or never end.
func content(ofFileAt path: String) -> [UInt8]? {
    // With O_NONBLOCK, opening a pipe does not wait for a writer. The file type is checked after
    // opening, so that the file cannot be replaced by a pipe in between.
    let descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
    var octets: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 65_536)
    // Reading beyond the limit shows that the file is too large.
    while octets.count <= ZoneFile.maxOctets {
        let count = read(descriptor, &piece, piece.count)
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { return count == 0 ? octets : nil }
        octets += piece[..<count]
    }
    return octets
}
