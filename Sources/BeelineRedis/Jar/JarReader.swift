// SPDX-License-Identifier: Apache-2.0

#if Redis
import CookieJar
import NIOConcurrencyHelpers

/// Follows the changes of a jar on the server. Its calls run on the thread of their session.
///
/// A new connection first reads the whole jar, because changes may have been lost on either side in the meantime: the
/// server may have restarted from older data, and the feed may have been cut. Then it reads the feed. Changes have
/// serial numbers, so it detects a gap in the feed and reads the whole jar again. It also reads the whole jar at
/// intervals, for cookies that this process lacks because a clock was wrong for a while, and for those that the server
/// had no room for. It does so too when the clock is set, if it then has reached the version of a change that was in the
/// future.
final class JarReader: Sendable {
    private struct Position {
        /// The ID of the last entry of the feed that was read; nil before the whole jar was read.
        var last: [UInt8]?
        var serial: Int64 = 0
        /// Whether the server's counter differed from the feed at the last check.
        var isDoubtful = false
        /// Counts the calls of ``JarReader/invalidate()``, so that none is lost while a step runs.
        var revision = 0
        /// When this process's jar and the server's were last equal. Nil before the first survey.
        var followed: ContinuousClock.Instant?
        /// When the next periodic survey is due.
        var nextSurvey = ContinuousClock.now
    }

    /// The result of a step.
    enum Step: Sendable {
        case surveyed
        /// Changes were read, or there were none. A gap among them makes the next step a survey.
        case followed
        case failed(RedisFault)
    }

    /// The maximum number of changes in one read of the feed.
    private static let feedCount = 256
    /// The number of records in one read of the whole jar, which the server treats as a hint.
    private static let scanCount = 256

    private let context: JarContext
    private let position = NIOLockedValueBox(Position())

    init(_ context: JarContext) { self.context = context }

    /// Forgets the last entry, so that the next step reads the whole jar.
    func invalidate() {
        position.withLockedValue { position in
            position.last = nil
            position.revision += 1
        }
    }

    /// Whether the next step reads the whole jar.
    var needsSurvey: Bool {
        if position.withLockedValue({ $0.last == nil || $0.nextSurvey <= .now }) { return true }
        guard let future = context.progress.values.future, future.version <= context.latestVersion else { return false }
        // A clock that only runs reaches the versions of a machine that is ahead one after the other. The periodic survey
        // reads those.
        return future.isClockSet(to: context.clock())
    }

    /// Reads the whole jar or waits for changes in the feed.
    func step(in session: RedisSession) -> Step {
        do throws(RedisFault) {
            if !session.isOpen { invalidate() }
            let before = position.withLockedValue { $0 }
            guard let last = before.last, !needsSurvey else {
                try survey(in: session, before)
                return .surveyed
            }
            try follow(after: last, in: session, before)
            return .followed
        } catch {
            invalidate()
            context.progress.update { $0.isCurrent = false }
            return .failed(error)
        }
    }

    // MARK: The whole jar

    private func survey(in session: RedisSession, _ before: Position) throws(RedisFault) {
        let limits = RedisReplyReader.Limits(octets: 4_096, elements: 3)
        let keys = [context.keys.state, context.keys.feed]
        let reply = try JarScripts.survey.run(in: session, keys: keys, arguments: [], limits: limits)
        guard let values = reply.elements, values.count == 3, let serial = values[0].number,
            let pruned = values[1].number, let last = values[2].octets,
            // Lua counts exactly up to 2^53.
            (0...(1 << 53)).contains(serial), pruned >= 0
        else { throw RedisScript.malformedReply }
        // Take the snapshot before the records: a change that arrives while they are read is in the feed after `last`.
        let (known, pending) = context.recorder.snapshot
        context.progress.update { ($0.unreadable, $0.future, $0.isEncrypted) = (0, nil, false) }
        let records = try records(in: session)
        let comparison = JarComparison(
            server: records,
            pruned: pruned,
            drops: acceptsDeletions(upTo: pruned, at: before),
            known: known,
            pending: pending,
            cookies: context.jar.allCookies(now: context.clock())
        )
        context.apply(comparison.updates)
        drop(comparison.dropped)
        context.recorder.putBack(comparison.pushes)
        let isValid = position.withLockedValue { position in
            // A random share of the interval, so that the processes of a jar do not all read it at once.
            let interval = context.configuration.surveyInterval.asWait * Double.random(in: 0.5...1)
            position.nextSurvey = .now + interval
            guard position.revision == before.revision else { return false }
            position.followed = .now
            // If the feed has no gap, reading continues after the old entry, which is followed by the changes since then.
            if before.last == nil { (position.last, position.serial, position.isDoubtful) = (last, serial, false) }
            return true
        }
        context.progress.forgetReports(unless: { $0.unreadable > 0 })
        context.progress.update { values in
            // The writer may have invalidated it since then; it changes the progress after that.
            values.isCurrent = isValid && position.withLockedValue { $0.revision == before.revision }
            if values.isCurrent { values.hasOverrun = false }
            values.failures[.reading] = nil
            if before.last == nil { values.serial = serial }
            values.surveys += 1
        }
        context.recorder.wakeSignal.signal()
    }

    /// Whether cookies that the server lacks count as deleted, if their versions are up to `pruned`.
    private func acceptsDeletions(upTo pruned: Int64, at before: Position) -> Bool {
        // A process that has seen all changes has seen all deletions. Before its first survey it has only cookies of
        // its own.
        guard before.last == nil, let followed = before.followed else { return false }
        guard context.configuration.encryptionKey != nil else { return pruned <= context.latestVersion }
        // The server can choose this number, which is not encrypted as a record is. Only a process that was away for
        // longer than deletions are kept must accept it.
        let absence = followed.duration(to: .now)
        return pruned <= context.clock().microseconds && absence >= context.configuration.deletionLifetime
    }

    private func records(in session: RedisSession) throws(RedisFault) -> [JarUpdate] {
        var updates: [JarUpdate] = []
        var size = 0
        var cursor = "0"
        // A server may send empty replies without an end.
        let limit = context.configuration.surveyLimit
        let maxOctets = context.configuration.maxJarOctets
        let start = ContinuousClock.now
        repeat {
            guard start.duration(to: .now) < limit else { throw RedisFault(reason: "HSCAN has no end within \(limit)") }
            let rest = [cursor, "COUNT", "\(Self.scanCount)"].map { Array($0.utf8) }
            let command = [Array("HSCAN".utf8), context.keys.cookies] + rest
            // The server returns a small hash (up to 512 short fields) whole, whatever the count.
            let most = context.configuration.boundedMaxRecords
            let limits = RedisReplyReader.Limits(octets: maxOctets, elements: max(8 * most, 8_192))
            let reply = try session.call([command], limits: limits).first
            guard let parts = reply?.elements, parts.count == 2, let next = parts[0].text,
                let fields = parts[1].elements,
                fields.count % 2 == 0
            else { throw RedisFault(reason: reply?.refusal ?? "the reply to HSCAN is malformed") }
            for index in stride(from: 0, to: fields.count, by: 2) {
                guard let field = fields[index].octets, let record = fields[index + 1].octets else { continue }
                size += field.count + record.count
                if let update = context.update(field: field, record: record) { updates.append(update) }
            }
            guard updates.count <= 4 * most else {
                throw RedisFault(
                    reason: "the jar on the server has more than \(4 * most) records, four times maxRecords"
                )
            }
            guard size <= maxOctets else {
                throw RedisFault(reason: "the jar on the server is larger than \(maxOctets >> 20) MiB; delete it")
            }
            cursor = next
        } while cursor != "0"
        return updates
    }

    private func drop(_ dropped: [CookieKey: Int64]) {
        context.jar.merge(
            stored: [],
            removed: dropped.keys.map(\.cookie),
            source: context.recorder.source,
            unless: { [recorder = context.recorder] cookie in
                let key = CookieKey(cookie)
                return !recorder.mark(key, .removed, ifVersion: dropped[key] ?? 0)
            }
        )
    }

    // MARK: The feed

    private func follow(after last: [UInt8], in session: RedisSession, _ before: Position) throws(RedisFault) {
        let wait = context.configuration.feedWait
        let words = ["XREAD", "COUNT", "\(Self.feedCount)", "BLOCK", "\(max(wait.milliseconds, 1))", "STREAMS"]
        let limits = RedisReplyReader.Limits(
            octets: Self.feedCount * 2 * JarCoding.maxRecord,
            elements: Self.feedCount * 16
        )
        let reply = try session.call(
            [words.map { Array($0.utf8) } + [context.keys.feed, last]],
            limits: limits,
            within: wait + context.configuration.redis.boundedTimeout
        ).first
        switch reply {
        case .nothing: try checkCounter(in: session)
        case .array(let streams):
            guard let entries = streams.first?.elements?.last?.elements else {
                throw RedisFault(reason: "the reply to XREAD is malformed")
            }
            try apply(entries, before)
        default: throw RedisFault(reason: reply?.refusal ?? "the reply to XREAD is malformed")
        }
    }

    private func apply(_ entries: [RedisValue], _ before: Position) throws(RedisFault) {
        var now = before
        var updates: [JarUpdate] = []
        for entry in entries {
            guard let parts = entry.elements, parts.count == 2, let id = parts[0].octets,
                let words = parts[1].elements, words.count == 6, let serial = words[1].number,
                let field = words[3].octets, let record = words[5].octets
            else { throw RedisFault(reason: "the feed has a malformed entry") }
            guard serial == now.serial &+ 1 else { return invalidate() }
            (now.last, now.serial) = (id, serial)
            if let update = context.update(field: field, record: record) { updates.append(update) }
        }
        context.apply(updates)
        (now.isDoubtful, now.followed) = (false, .now)
        position.withLockedValue { [now] in if $0.revision == now.revision { $0 = now } }
        context.progress.update { [now] in $0.serial = now.serial }
    }

    /// Compares the server's counter with the feed. A difference that stays until the next check means that the feed
    /// was cut or the server's data were deleted.
    private func checkCounter(in session: RedisSession) throws(RedisFault) {
        let command = [Array("HGET".utf8), context.keys.state, Array("serial".utf8)]
        let reply = try session.call([command], limits: .init(octets: 64, elements: 0)).first
        let isEqual = position.withLockedValue { position in
            let isEqual = (reply?.number ?? 0) == position.serial
            defer { position.isDoubtful = !isEqual }
            if isEqual { position.followed = .now }
            return isEqual || !position.isDoubtful
        }
        if !isEqual { invalidate() }
    }
}
#endif
