// SPDX-License-Identifier: Apache-2.0

#if Redis
import CookieJar

/// Writes the changes of a jar to the server. Its calls run on the thread of their session.
struct JarWriter: Sendable {
    /// The result of a write.
    enum Outcome: Sendable {
        /// All changes that were pending are on the server, or newer ones are. Contains the serial number of its last
        /// change.
        case written(serial: Int64)
        /// There were too many changes to track: the whole jar must be compared.
        case overrun
        case failed(RedisFault)
    }

    /// A lease under which changes are written.
    struct Lease: Hashable, Sendable {
        /// The name of its keys.
        let label: String
        /// The value of its key. No other process has it.
        let value: String
        /// The number of the lease. Later leases have higher numbers.
        let fence: Int64
    }

    /// The maximum number of changes in one call of the script, so that the server serves others in between.
    static let batchSize = 64
    /// The time for which the server keeps an expired cookie, in case a client's clock is behind, in milliseconds.
    static let grace: Int64 = 3_600_000

    let context: JarContext

    /// Writes all pending changes.
    func write(in session: RedisSession) -> Outcome {
        // Other processes may encrypt an empty jar after this one has opened it.
        guard !context.lacksKey else { return .failed(RedisFault(reason: context.needsKey)) }
        guard case .changes(var rest) = context.recorder.take() else { return .overrun }
        var serial: Int64 = 0
        repeat {
            let batch = Array(rest.prefix(Self.batchSize))
            do throws(RedisFault) {
                // Without a change, the call only returns the serial number.
                serial = try write(batch, in: session, under: nil) ?? serial
            } catch {
                context.recorder.putBack(rest)
                return .failed(error)
            }
            rest.removeFirst(batch.count)
        } while !rest.isEmpty
        return .written(serial: serial)
    }

    /// Writes changes in one step, and applies the server's states that are newer.
    ///
    /// - Parameter lease: The lease under which they are written. Nil for changes that need none.
    /// - Returns: The serial number of the server's last change. Nil if the lease is not valid any more.
    func write(
        _ entries: [PendingChanges.Entry],
        in session: RedisSession,
        under lease: Lease?
    ) throws(RedisFault) -> Int64? {
        let configuration = context.configuration
        var keys = context.keys.written
        if let lease { keys += context.keys.lease(lease.label) }
        var arguments = [
            configuration.boundedMaxRecords, configuration.feedLength, configuration.deletionLifetime.milliseconds,
            configuration.idleLifetime.milliseconds,
        ].map { Array("\(max($0, 1))".utf8) }
        arguments += [Array((lease?.value ?? "").utf8), Array("\(lease?.fence ?? 0)".utf8)]
        var sent: [PendingChanges.Entry] = []
        for entry in entries {
            guard let (field, record) = context.coding.record(of: entry) else { continue }
            let expires = entry.kind == .stored ? entry.cookie.expires : nil
            let kind = entry.kind == .stored ? "c" : "d"
            let words = [
                "\(entry.updated)", kind, expires.map { "\(max($0.microseconds / 1_000, 0) + Self.grace)" } ?? "0",
            ]
            arguments += [field] + words.map { Array($0.utf8) } + [record]
            sent.append(entry)
        }
        let limits = RedisReplyReader.Limits(
            octets: (sent.count + 1) * (JarCoding.maxRecord + 64),
            elements: sent.count + 1
        )
        let reply = try JarScripts.write.run(in: session, keys: keys, arguments: arguments, limits: limits)
        guard let values = reply.elements, let serial = values.first?.number else {
            throw RedisScript.malformedReply
        }
        guard serial >= 0 else { return nil }
        guard values.count == sent.count + 1 else { throw RedisScript.malformedReply }
        // The jar does not have the changes of a login yet. Apply them now, because the feed brings them a little
        // later.
        if lease != nil {
            context.apply(
                entries.map { entry in
                    let cookie = entry.kind == .stored ? entry.cookie : nil
                    return JarUpdate(key: CookieKey(entry.cookie), version: entry.updated, cookie: cookie)
                }
            )
        }
        settle(sent, values.dropFirst())
        return serial
    }

    private func settle(_ sent: [PendingChanges.Entry], _ replies: ArraySlice<RedisValue>) {
        var newer: [JarUpdate] = []
        for (entry, reply) in zip(sent, replies) {
            let key = CookieKey(entry.cookie)
            context.recorder.noteRefusal(reply == .integer(2), of: key, version: entry.updated)
            switch reply {
            case .octets(let record):
                let field = context.coding.field(of: key)
                if let update = context.update(field: field, record: record) { newer.append(update) }
            case .integer(2):
                let name = context.configuration.name
                context.report("the jar \(name) is full on the server; new cookies stay in this process")
            default: break
            }
        }
        context.apply(newer, winsTies: true)
    }
}

extension Duration {
    /// The duration in whole milliseconds, bounded to a century.
    var milliseconds: Int {
        let (seconds, attoseconds) = asWait.components
        return Int(seconds) * 1_000 + Int(attoseconds / 1_000_000_000_000_000)
    }
}
#endif
