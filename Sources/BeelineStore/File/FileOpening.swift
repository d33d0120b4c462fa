// SPDX-License-Identifier: Apache-2.0

import CookieJar
import GRDB

/// An open file and the jar that was filled from it.
struct OpenedFile: Sendable {
    let lock: FileLock
    let connection: FileConnection
    let recorder: ChangeRecorder
    let exchange: CookieExchange
    let report: CookieDatabaseReport
}

/// Opens a cookie file: takes the lock, determines the file's kind, creates or migrates it, checks it and fills a jar.
///
/// It waits for the disk and for other processes, so it must run on a thread that may block.
struct FileOpening: Sendable {
    let path: String
    let configuration: CookieDatabaseConfiguration
    let jar: CookieJarConfiguration
    let clock: @Sendable () -> CookieTime

    /// The contents of the file.
    private struct Contents {
        var rows: [CookieRow]
        var state: CookieRows.State
        var newestUpdate: Int64
        var report: CookieDatabaseReport
    }

    func run() throws(StoreError) -> OpenedFile {
        let file = DatabaseFile(path)
        let deadline = ContinuousClock.now + configuration.busyTimeout.asWait
        while true {
            let isNew = FileIdentity(path: file.lock) == nil
            let (lock, hold) = try FileLock.acquire(file.lock, until: deadline)
            do throws(StoreError) {
                if let opened = try hold == .alone ? openAlone(file, lock, until: deadline) : openShared(file, lock) {
                    return opened
                }
                lock.close()
            } catch {
                // Leave a rejected file without a new lock file beside it.
                if hold == .alone, isNew { lock.release() } else { lock.close() }
                throw error
            }
        }
    }

    // MARK: Alone

    /// Opens the file while no other process has it open.
    ///
    /// - Returns: nil if another process held the lock alone before it was shared. Then the caller must start again.
    private func openAlone(
        _ file: DatabaseFile,
        _ lock: FileLock,
        until deadline: ContinuousClock.Instant
    ) throws(StoreError) -> OpenedFile? {
        var report = CookieDatabaseReport()
        switch try file.kind() {
        case .absent: try create(file)
        case .database(Schema.applicationID): break
        case .database: throw foreign(file)
        case .unknown(let number):
            // Do not replace a file that may belong to another program: an encrypted database has a random header, for example.
            guard number == Schema.applicationID || lock.isMarkedOurs else { throw unknown(file) }
            try replace(file, because: "it is not a database", &report)
        }
        try file.restrictMode()
        var (connection, contents): (FileConnection, Contents)
        do throws(StoreError) {
            (connection, contents) = try connectAlone(file, report)
        } catch {
            guard error.code == .damaged else { throw error }
            // Drop the remedy from the message, because it is applied here.
            let cause = error.message.replacing("\(file.path): ", with: "").prefix { $0 != ";" }
            try replace(file, because: String(cause), &report)
            (connection, contents) = try connectAlone(file, report)
        }
        let opened = fill(from: contents, connection, lock)
        lock.markOurs()
        do throws(StoreError) {
            try lock.share(until: deadline)
            // Another process may have held the lock alone before it was shared here.
            if try connection.perform({ try CookieRows($0).state().openings }) == contents.state.openings {
                return opened
            }
            try connection.close()
            return nil
        } catch {
            try? connection.close()
            throw error
        }
    }

    private func create(_ file: DatabaseFile) throws(StoreError) {
        try file.create { draft throws(StoreError) in
            let connection = try FileConnection(path: draft, busyTimeout: configuration.busyTimeout)
            try connection.perform { try Schema.create($0) }
            try connection.close()
        }
    }

    /// Renames a damaged file and creates an empty one in its place.
    private func replace(
        _ file: DatabaseFile,
        because reason: String,
        _ report: inout CookieDatabaseReport
    ) throws(StoreError) {
        let place = try file.setAside(at: clock().microseconds / 1_000_000)
        report.setAside = place
        report.messages.append(
            "\(file.path) is damaged (\(reason)); it is kept as \(place), and an empty file takes its place"
        )
        try create(file)
    }

    private func connectAlone(
        _ file: DatabaseFile,
        _ report: CookieDatabaseReport
    ) throws(StoreError) -> (FileConnection, Contents) {
        let connection = try FileConnection(path: file.path, busyTimeout: configuration.busyTimeout)
        do throws(StoreError) {
            var report = report
            let version = try version(connection)
            try connection.useLog()
            try connection.perform { try $0.checkIntegrity() }
            if version < Schema.current {
                try connection.perform { try Schema.migrate($0) }
                report.migratedFrom = version
                report.messages.append("\(file.path) was upgraded from version \(version) to \(Schema.current)")
            }
            try connection.perform { try Schema.check($0) }
            let (restoresSession, now) = (configuration.restoresSession, clock())
            let lastExpiry = now.advanced(bySeconds: jar.maxAge.components.seconds)
            try connection.perform { db in
                try db.inTransaction(.immediate) {
                    let rows = CookieRows(db)
                    report.skipped = try rows.deleteLongPaths()
                    report.expired = try rows.deleteExpired(at: now)
                    if now.isPlausible { try rows.limitExpiry(to: lastExpiry) }
                    if !restoresSession { report.endedSession = try rows.deleteSession() }
                    try rows.countOpening()
                    return .commit
                }
            }
            return (connection, try read(connection, report))
        } catch {
            try? connection.close()
            // The header identifies our file, so a missing table means damage.
            throw error.isOfSchema ? StoreError(.damaged, path: error.path, error.message) : error
        }
    }

    // MARK: Shared

    /// Opens the file while other processes have it open. They have already checked it.
    private func openShared(_ file: DatabaseFile, _ lock: FileLock) throws(StoreError) -> OpenedFile {
        // SQLite would create an empty file that other users can read.
        guard FileIdentity(path: file.path) != nil else {
            let message = "\(file.path) was deleted while a program has it open; end that program first"
            throw StoreError(.inUse, path: file.path, message)
        }
        let connection = try FileConnection(path: file.path, busyTimeout: configuration.busyTimeout)
        do throws(StoreError) {
            let version = try version(connection)
            guard version == Schema.current else {
                let message =
                    "\(file.path) has the older version \(version) and is in use; close the programs that have it open"
                throw StoreError(.inUse, path: file.path, message)
            }
            try connection.useLog()
            var report = CookieDatabaseReport()
            report.isShared = true
            return fill(from: try read(connection, report), connection, lock)
        } catch {
            try? connection.close()
            guard error.code == .damaged else { throw error }
            let message = "\(error.message); another process has it open, so it is not set aside: end that one first"
            throw StoreError(.damaged, path: error.path, message)
        }
    }

    // MARK: Both

    private func read(_ connection: FileConnection, _ report: CookieDatabaseReport) throws(StoreError) -> Contents {
        try connection.perform { db in
            var contents: Contents?
            try db.inTransaction(.deferred) {
                let rows = CookieRows(db, budget: ReadBudget(for: jar))
                var (report, state) = (report, try rows.state())
                let (cookies, skipped) = try rows.cookies()
                report.skipped += skipped
                contents = Contents(
                    rows: cookies,
                    state: state,
                    newestUpdate: try rows.newestUpdate(),
                    report: report
                )
                return .commit
            }
            guard let contents else { throw DatabaseError(resultCode: .SQLITE_ERROR, message: "nothing was read") }
            return contents
        }
    }

    private func fill(from contents: Contents, _ connection: FileConnection, _ lock: FileLock) -> OpenedFile {
        let jar = CookieJar(configuration: jar, clock: clock)
        let recorder = ChangeRecorder(
            capacity: configuration.maxPendingChanges,
            batchCount: configuration.writeBatchCount,
            clock: clock
        )
        recorder.noteUpdate(contents.newestUpdate)
        // Follow the jar before it is filled, so that cookies evicted by a smaller limit are deleted from the file too.
        jar.follow(recorder)
        jar.markKept()
        // Opening number 1 creates or migrates the file. A new file has no earlier jar to restore.
        if contents.state.openings > 1 || contents.report.migratedFrom != nil { jar.markRestored() }
        let addition = jar.merge(stored: contents.rows.map(\.cookie), source: recorder.source)
        var report = contents.report
        for outcome in addition.outcomes {
            switch outcome {
            case .kept, .replaced: report.loaded += 1
            case .rejected(let reason) where reason == .noRoom: break
            case .deleted: break
            case .rejected: report.skipped += 1
            }
        }
        report.dropped = addition.dropped
        if report.dropped > 0 {
            report.messages.append(
                "\(connection.path): \(report.dropped) cookies exceed the limits of this jar and are removed from the file; "
                    + "open it with a larger maxCookies or maxCookiesPerDomain"
            )
        }
        if report.skipped > 0 {
            report.messages.append("\(connection.path): \(report.skipped) rows are not cookies that this jar can hold")
        }
        let exchange = CookieExchange(
            jar: jar,
            recorder: recorder,
            configuration: configuration,
            clock: clock,
            path: connection.path,
            revision: contents.state.revision
        )
        return OpenedFile(lock: lock, connection: connection, recorder: recorder, exchange: exchange, report: report)
    }

    /// Returns the version of a file. Throws for a newer one.
    private func version(_ connection: FileConnection) throws(StoreError) -> Int {
        let version = try connection.perform { try Schema.version($0) }
        guard version <= Schema.current else {
            throw .newerVersion(version, supported: Schema.current, path: connection.path)
        }
        return version
    }

    private func foreign(_ file: DatabaseFile) -> StoreError {
        let message =
            "\(file.path) is another program's database and was not touched; name another file, or import its cookies"
        return StoreError(.notOurs, path: file.path, message)
    }

    private func unknown(_ file: DatabaseFile) -> StoreError {
        let message =
            "\(file.path) is not a database, and does not look like a damaged one of this library; it was not touched: "
            + "name another file, or move it away"
        return StoreError(.notOurs, path: file.path, message)
    }
}
