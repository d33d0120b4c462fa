// SPDX-License-Identifier: Apache-2.0

#if Redis
public import CookieJar
import NIOConcurrencyHelpers

/// A cookie jar that processes on several machines share through a Redis or Valkey server.
///
/// Each process works on its own ``jar``, so lookups never wait for the server. Changes are written in the background
/// and reach the other processes within milliseconds. If two processes change the same cookie, the later change wins,
/// and all jars end equal. A deleted cookie does not come back. If the server is unavailable, the local jar keeps
/// working, and both are reconciled when the server is back.
///
/// ```swift
/// let shared = try RedisJar(RedisJarConfiguration(name: "shop"))
/// try await shared.synchronize()
/// let client = try BeelineClient(jar: shared.jar)
/// …
/// try await shared.close()
/// ```
///
/// Session cookies are shared too, and the server keeps them until they are deleted or the jar is unused for
/// ``RedisJarConfiguration/idleLifetime``. Access times are not shared. Call ``close(within:)`` when the jar is no
/// longer needed. Keep this object until then: ``jar`` does not keep it, and is not shared any more after its release.
public final class RedisJar: Sendable {
    /// The jar. It stays usable in memory after ``close(within:)``.
    public let jar: CookieJar
    let context: JarContext
    let limits: CookieJarConfiguration
    let connector: RedisConnector
    /// The connection for leases, so that a renewal never waits behind a write.
    let leases: RedisSession
    private let loops: JarLoops
    private let work: Task<Void, Never>
    /// The first ``close(within:)``.
    private let closing = NIOLockedValueBox<Task<Result<Void, RedisError>, Never>?>(nil)
    /// The result of ``close(within:)`` after its end.
    private let ended = NIOLockedValueBox<Result<Void, RedisError>?>(nil)

    /// Makes an empty jar and starts to fill it from the server, which may be unavailable.
    ///
    /// - Parameters:
    ///   - configuration: The server and the limits.
    ///   - limits: The limits and the policy of the jar. All processes should use the same. A process with smaller
    ///     limits has only some of the cookies. A cookie that it evicts to store one of its own is deleted for all
    ///     processes. A cookie of the server that it has no room for stays on the server.
    ///   - clock: Returns the current time; default the system's clock. If clocks differ, only changes of one cookie
    ///     that are made at the same time are ordered wrongly.
    /// - Throws: ``RedisError`` with code `badName`.
    public init(
        _ configuration: RedisJarConfiguration,
        jar limits: CookieJarConfiguration = CookieJarConfiguration(),
        clock: @escaping @Sendable () -> CookieTime = { .now }
    ) throws(RedisError) {
        guard let keys = JarKeys(prefix: configuration.redis.prefix, name: configuration.name) else {
            throw RedisError(
                .badName,
                "\"\(configuration.name)\" cannot be the name of a jar; use letters, digits and -_.@/"
            )
        }
        let jar = CookieJar(configuration: limits, clock: clock)
        let recorder = JarRecorder(
            capacity: max(configuration.maxPendingChanges, 1),
            maxKnown: 4 * max(configuration.boundedMaxRecords, min(limits.maxCookies, 1_000_000)),
            clock: clock
        )
        jar.follow(recorder)
        jar.markKept()
        let context = JarContext(
            jar: jar,
            recorder: recorder,
            progress: JarProgress(),
            coding: JarCoding(place: keys.base, cipher: configuration.encryptionKey.map { JarCipher($0) }),
            keys: keys,
            configuration: configuration,
            clock: clock
        )
        (self.jar, self.context, self.limits) = (jar, context, limits)
        connector = RedisConnector(configuration.redis)
        leases = RedisSession(connector)
        let loops = JarLoops(
            context: context,
            writer: JarWriter(context: context),
            reader: JarReader(context),
            writing: RedisSession(connector),
            reading: RedisSession(connector)
        )
        self.loops = loops
        // `close()` or `deinit` ends this task. The task does not retain the jar.
        work = Task { await loops.run() }
    }

    deinit {
        work.cancel()
        connector.end()
        context.recorder.finish()
        loops.reading.interrupt()
        loops.writing.interrupt()
    }

    var configuration: RedisJarConfiguration { context.configuration }

    /// The health of the jar.
    public var state: RedisJarState {
        let values = context.progress.values
        return RedisJarState(
            isConnected: values.isCurrent,
            unwrittenChanges: context.recorder.unwritten,
            unreadableRecords: values.unreadable,
            failure: values.failure
        )
    }

    /// Writes all changes of the jar before this call, and reads all changes that other processes have written before.
    /// A write that has begun continues after the time limit.
    ///
    /// - Parameter limit: The time limit. Default: 5 seconds.
    /// - Throws: ``RedisError``: `unavailable`, `closed`; `badKey` if the jar is encrypted and the configuration has no
    ///   key. The changes stay pending and are written later.
    public func synchronize(within limit: Duration = .seconds(5)) async throws(RedisError) {
        let deadline = deadline(within: limit)
        while !Task.isCancelled {
            guard await context.progress.wait(until: deadline, { $0.isCurrent || $0.isClosed }) else { break }
            guard !context.progress.values.isClosed else { throw closed }
            if context.lacksKey { throw RedisError(.badKey, context.needsKey) }
            let (surveys, known) = (context.progress.values.surveys, context.progress.values.serial)
            let outcome = await result(before: deadline) { [loops] in await loops.writePending() } ?? nil
            if case .written(let serial) = outcome {
                // A lower number than before means that the server lost changes; the reader will notice it too.
                let isRead = await context.progress.wait(until: deadline) {
                    ($0.serial >= serial && serial >= known) || $0.surveys > surveys || $0.isClosed
                }
                let values = context.progress.values
                if isRead, values.surveys == surveys, values.isCurrent { return }
            }
            guard ContinuousClock.now < deadline else { break }
            _ = await context.progress.wait(until: min(deadline, .now + .milliseconds(20))) { _ in false }
        }
        throw unavailable(within: limit, Task.isCancelled ? "the wait was cancelled" : nil)
    }

    /// When a time limit ends: at most a day from now, because a limit without a bound would overflow.
    func deadline(within limit: Duration) -> ContinuousClock.Instant { .now + min(max(limit, .zero), .seconds(86_400)) }

    var closed: RedisError { RedisError(.closed, "the jar \(configuration.name) was closed; open it again") }

    /// - Parameter reason: The reason. Nil for that of the background work.
    func unavailable(within limit: Duration, _ reason: String? = nil) -> RedisError {
        let redis = configuration.redis
        let server =
            redis.sentinel.map { "the Redis server of Sentinel's service \($0.service)" }
            ?? "the Redis server \(redis.host):\(redis.port)"
        let reason = reason ?? context.progress.values.failure ?? "no reply within \(limit)"
        return RedisError(.unavailable, "the jar \(configuration.name): \(server) cannot be used: \(reason)")
    }

    /// Writes the remaining changes, and closes the connections.
    ///
    /// A running login is cancelled, and its lease ends. Further calls wait for the first call and return its result.
    /// If their time limit ends earlier, they end the writing of the first call.
    ///
    /// - Parameter limit: The time limit. Connections that are being opened then end by themselves. Default: 5 seconds.
    /// - Throws: ``RedisError`` with code `unavailable` if changes could not be written, or `badKey` if the jar is
    ///   encrypted and the configuration has no key. The jar is closed even then.
    public func close(within limit: Duration = .seconds(5)) async throws(RedisError) {
        // In a separate task, so that the last changes are written even if the caller is cancelled, by Ctrl-C for
        // instance.
        let (task, isFirst) = closing.withLockedValue { closing in
            if let closing { return (closing, false) }
            let task = Task { await end(within: limit) }
            closing = task
            return (task, true)
        }
        if let outcome = ended.withLockedValue({ $0 }) { return try outcome.get() }
        if isFirst { return try await task.value.get() }
        let deadline = deadline(within: limit)
        // Also in a separate task: a cancelled caller must not end the writing before its limit.
        let outcome = await Task { await result(before: deadline, of: { await task.value }) }.value
        if let outcome { return try outcome.get() }
        // If everything is written, only a login or a connection is still open.
        guard hasUnwritten else { return }
        context.progress.update { $0.isClosed = true }
        throw unavailable(within: limit)
    }

    /// Whether changes are not on the server, or may not be.
    private var hasUnwritten: Bool { context.progress.values.hasOverrun || context.recorder.unwritten > 0 }

    private func end(within limit: Duration) async -> Result<Void, RedisError> {
        let deadline = deadline(within: limit)
        var failure: RedisError?
        do throws(RedisError) {
            // Changes may be made meanwhile, and a survey puts changes back before it ends the overrun.
            while context.progress.values.hasOverrun || !context.recorder.finishIfWritten() {
                try await synchronize(within: max(.zero, ContinuousClock.now.duration(to: deadline)))
            }
        } catch {
            // Changes that the reader has not confirmed may nevertheless have been written.
            context.recorder.finish()
            if hasUnwritten {
                // A server that refuses writes, as when its memory is full, can nevertheless be read.
                let values = context.progress.values
                let reason = values.isCurrent && values.failure == nil ? "changes were made until the end" : nil
                failure = error.code == .badKey ? error : unavailable(within: limit, reason)
            }
        }
        context.progress.update { $0.isClosed = true }
        work.cancel()
        // Wait until logins have released their leases.
        _ = await context.progress.wait(until: deadline) { $0.logins == 0 }
        connector.end()
        for session in [loops.reading, loops.writing, leases] { session.interrupt() }
        _ = await result(before: deadline) { [loops, leases, work] in
            for session in [loops.reading, loops.writing, leases] { await session.end() }
            await work.value
        }
        let outcome: Result<Void, RedisError> = failure.map { .failure($0) } ?? .success(())
        ended.withLockedValue { $0 = outcome }
        return outcome
    }
}
#endif
