// SPDX-License-Identifier: Apache-2.0

import DirectHTTP
import HTTPDNS
import LibC
import NIOConcurrencyHelpers

/// Zone files, read again when they change. An invalid file keeps its previous content, and the others are read.
final class ZoneFiles: Sendable {
    /// A zone and the versions of its files, including included files.
    struct Reading: Sendable {
        fileprivate(set) var zone: AuthoritativeZone
        /// The zone in the file. It is not served while another file has a zone of the same name.
        fileprivate var latest: AuthoritativeZone
        fileprivate var changes: FileChanges
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

    /// Reads the changed files again and serves the valid ones. Call it at intervals: a changed file is read once it
    /// has not changed since the previous call.
    ///
    /// - Returns: Whether any file was read, and the errors. An invalid file is not read again until it changes.
    @discardableResult
    func reload() -> (hasRead: Bool, failures: [ServerError]) {
        // The stamps are taken outside of the lock, because a file on a network disk may block for any time.
        let stamps = state.withLockedValue { $0.readings }.map { FileChanges.stamps(of: $0.changes.read.keys) }
        let changed = state.withLockedValue { state in
            paths.indices.filter { state.readings[$0].changes.mustRead(stamps[$0]) }
        }
        var readings = state.withLockedValue { $0.readings }
        var reread: [Int] = []
        var failures: [ServerError] = []
        for index in changed {
            var stamps: FileChanges.Stamps = [:]
            let result = Result { () throws(ServerError) in try Self.zone(paths[index], &stamps) }
            // The file changed during the read, so the content may be incomplete.
            guard FileChanges.stamps(of: stamps.keys) == stamps else { continue }
            do throws(ServerError) {
                readings[index].latest = try result.get()
            } catch {
                readings[index].latest = readings[index].zone
                failures.append(error)
            }
            readings[index].changes = FileChanges(read: stamps)
            reread.append(index)
        }
        guard !reread.isEmpty else { return (false, []) }
        // A duplicate is reported when its file is read. It is served when the other file has lost the zone.
        failures += useLatest(&readings).filter { reread.contains($0.index) }.map(\.error)
        use(readings)
        return (true, failures)
    }

    /// Takes the latest zone of each file. Only the result must have no zone twice, so that zones can change places
    /// between files. A file keeps its previous zone if its new one is also in another file.
    ///
    /// - Returns: The files that keep their previous zone.
    private func useLatest(_ readings: inout [Reading]) -> [(index: Int, error: ServerError)] {
        var refused: [(index: Int, error: ServerError)] = []
        var zones = readings.map(\.latest)
        // Each refusal brings back a zone, which may refuse another file.
        var before = -1
        while before < refused.count {
            before = refused.count
            for index in zones.indices.reversed() where zones[index].apex != readings[index].zone.apex {
                let apex = zones[index].apex
                guard let other = zones.indices.first(where: { $0 != index && zones[$0].apex == apex }) else {
                    continue
                }
                refused.append((index, Self.duplicate(zones[index], first: paths[other], second: paths[index])))
                zones[index] = readings[index].zone
            }
        }
        for index in zones.indices { readings[index].zone = zones[index] }
        return refused
    }

    /// Reads all files without serving them. Call ``use(_:)`` to serve the result.
    ///
    /// - Throws: ``ServerError`` with code `badZone`, the file and the line.
    func read() throws(ServerError) -> [Reading] {
        var readings: [Reading] = []
        var places: [DNSName: String] = [:]
        for path in paths {
            var stamps: FileChanges.Stamps = [:]
            let zone = try Self.zone(path, &stamps)
            if let other = places.updateValue(path, forKey: zone.apex) {
                throw Self.duplicate(zone, first: other, second: path)
            }
            readings.append(Reading(zone: zone, latest: zone, changes: FileChanges(read: stamps)))
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
        _ stamps: inout FileChanges.Stamps
    ) throws(ServerError) -> AuthoritativeZone {
        func open(_ path: String) -> Result<[UInt8], UnreadableFile> {
            // Takes the stamp before reading, so that a write during the read counts as a change.
            stamps.updateValue(FileStamp(path), forKey: path)
            return content(ofFileAt: path)
        }
        let octets: [UInt8]
        do throws(UnreadableFile) {
            octets = try open(path).get()
        } catch {
            throw ServerError(.badZone, "\(path) \(error.reason)")
        }
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

/// The reason why a file cannot be used.
struct UnreadableFile: Error {
    /// Words that follow the path of the file.
    let reason: String

    /// - Parameter number: The value of `errno`.
    init(error number: CInt) { reason = "cannot be read: \(String.words(forError: number))" }

    init(reason: String) { self.reason = reason }
}

/// Reads a regular file of at most ``ZoneFile/maxOctets``. Fails for pipes and devices, which may block or never end.
func content(ofFileAt path: String) -> Result<[UInt8], UnreadableFile> {
    // With O_NONBLOCK, opening a pipe does not wait for a writer. The file type is checked after
    // opening, so that the file cannot be replaced by a pipe in between.
    let descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else { return .failure(UnreadableFile(error: errno)) }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { return .failure(UnreadableFile(error: errno)) }
    guard status.st_mode & S_IFMT == S_IFREG else { return .failure(UnreadableFile(reason: "is not a regular file")) }
    var octets: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 65_536)
    while octets.count <= ZoneFile.maxOctets {
        let count = read(descriptor, &piece, piece.count)
        if count < 0, errno == EINTR { continue }
        guard count >= 0 else { return .failure(UnreadableFile(error: errno)) }
        guard count > 0 else { return .success(octets) }
        octets += piece[..<count]
    }
    return .failure(UnreadableFile(reason: "is larger than \(ZoneFile.maxOctets >> 20) MiB"))
}
