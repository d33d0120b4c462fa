// SPDX-License-Identifier: Apache-2.0

#if Redis
public import CookieJar
import NIOConcurrencyHelpers
public import Names

extension RedisJar {
    /// Makes sure that the jar is logged in at an origin, with one login for all processes.
    ///
    /// One process logs in under a lease on the server. The others wait for its cookies. If that process ends or loses
    /// the server, the lease ends, and the next process logs in. The login works on a copy of the jar, and its changes
    /// are written in one step when it has succeeded. They count as made at that time. If the lease has ended, nothing
    /// is written.
    ///
    /// ```swift
    /// let outcome = try await shared.ensureLoggedIn(to: url.origin) { jar in
    ///     jar.header(for: url)?.contains("session=") ?? false
    /// } logIn: { jar in
    ///     let client = try BeelineClient(jar: jar)
    ///     _ = try await client.post("https://shop.example/login", body: form)
    ///     await client.shutDown()
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - origin: The origin of the login. Each origin has its own lease.
    ///   - limit: The maximum time to wait for another process's login. A login of this process may take longer.
    ///     Default: 60 seconds.
    ///   - isLoggedIn: Returns whether a jar has the cookies of a login. Called again after changes of the jar, and
    ///     after the login.
    ///   - logIn: Logs in with the given jar, a copy of ``jar``. Cancelled if the lease is lost or the jar is closed.
    /// - Returns: Whether this process logged in.
    /// - Throws: The errors of the closures, `CancellationError`, and ``RedisError``: `unavailable` without the server,
    ///   `timedOut`, `leaseLost`, `notLoggedIn`, `tooManyChanges`, `closed`.
    public func ensureLoggedIn(
        to origin: Origin,
        within limit: Duration = .seconds(60),
        isLoggedIn: (CookieJar) async throws -> Bool,
        logIn: @escaping @Sendable (CookieJar) async throws -> Void
    ) async throws -> LoginOutcome {
        if try await isLoggedIn(jar) { return .alreadyLoggedIn }
        let deadline = deadline(within: limit)
        let lease = LoginLease(context: context, label: context.coding.label(of: "\(origin)"))
        // `close()` waits for it, so that the lease is released.
        context.progress.update { $0.logins += 1 }
        defer { context.progress.update { $0.logins -= 1 } }
        var waits = false
        while true {
            try Task.checkCancellation()
            guard !context.progress.values.isClosed else { throw closed }
            let attempt: LoginLease.Outcome
            do {
                attempt = try await acquire(lease)
            } catch let error as RedisError where error.code == .unavailable && waits && .now < deadline {
                // The server may return, and with it the cookies of the other process.
                attempt = .held(configuration.leasePolling)
            }
            switch attempt {
            case .taken(let taken, let end, let serial):
                do {
                    // The login of another process may have ended just before.
                    let patience = max(deadline, ContinuousClock.now + configuration.redis.timeout)
                    try await read(upTo: serial, until: min(patience, end))
                    if try await isLoggedIn(jar) {
                        await release(lease, taken)
                        return .loggedInByAnother
                    }
                    // Another process may have the lease by now, so acquire it again before the login.
                    guard ContinuousClock.now < end else {
                        await release(lease, taken)
                        continue
                    }
                    try await run(logIn, under: taken, of: lease, until: end)
                    guard try await isLoggedIn(jar) else {
                        throw RedisError(
                            .notLoggedIn,
                            "the login at \(origin) ended, but the jar is not logged in; check the login"
                        )
                    }
                    await release(lease, taken)
                    return .loggedIn
                } catch {
                    // A lost lease needs no release, and the server may not answer.
                    if (error as? RedisError)?.code != .leaseLost { await release(lease, taken) }
                    throw error
                }
            case .held(let left):
                waits = true
                guard ContinuousClock.now < deadline else {
                    throw RedisError(
                        .timedOut,
                        "another process has not finished its login at \(origin) within \(limit); try again later"
                    )
                }
                // The cookies of the login arrive by the feed. The lease may also end without any.
                let pause = ContinuousClock.now + min(max(left, .milliseconds(5)), configuration.leasePolling)
                let serial = context.progress.values.serial
                _ = await context.progress.wait(until: min(deadline, pause)) { $0.serial != serial || $0.isClosed }
                if try await isLoggedIn(jar) { return .loggedInByAnother }
            }
        }
    }

    /// Waits until the changes up to a serial number are in the jar.
    private func read(upTo serial: Int64, until deadline: ContinuousClock.Instant) async throws {
        let surveys = context.progress.values.surveys
        let isRead = await context.progress.wait(until: deadline) {
            $0.isClosed || ($0.isCurrent && ($0.serial >= serial || $0.surveys > surveys))
        }
        try Task.checkCancellation()
        guard !context.progress.values.isClosed else { throw closed }
        guard isRead else { throw unavailable(within: configuration.redis.timeout) }
    }

    /// Takes the lease if it is free.
    ///
    /// - Throws: `CancellationError`, and ``RedisError``: `unavailable`, `closed`.
    func acquire(_ lease: LoginLease) async throws -> LoginLease.Outcome {
        try await call { session throws(RedisFault) in try lease.acquire(in: session) }
    }

    /// Runs a call on the connection for leases.
    private func call<Reply: Sendable>(
        _ body: @escaping @Sendable (RedisSession) throws(RedisFault) -> Reply
    ) async throws -> Reply {
        let result = await leases.run { session -> Result<Reply, RedisFault> in
            Result { () throws(RedisFault) in try body(session) }
        }
        switch result {
        case .success(let reply): return reply
        case .failure(let fault):
            context.fail(fault, nil)
            throw unavailable(within: configuration.redis.timeout, fault.reason)
        case nil:
            // The session does not start a call for a cancelled task.
            try Task.checkCancellation()
            throw closed
        }
    }

    /// Releases a lease. Stops waiting after the time that the lease can last.
    private func release(_ lease: LoginLease, _ taken: JarWriter.Lease) async {
        let end = ContinuousClock.now + configuration.boundedLeaseLifetime
        // In a separate task, because a cancelled login must also release its lease.
        await Task { [leases] in
            _ = await result(before: end) { await leases.run { lease.release(taken, in: $0) } }
        }.value
    }

    /// Runs a login while its lease is renewed, and writes its changes under the lease.
    private func run(
        _ logIn: @escaping @Sendable (CookieJar) async throws -> Void,
        under taken: JarWriter.Lease,
        of lease: LoginLease,
        until end: ContinuousClock.Instant
    ) async throws {
        let (copy, draft) = LoginDraft.copy(of: context, limits: limits)
        let end = NIOLockedValueBox(end)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await logIn(copy) }
            group.addTask { throw try await self.renew(taken, of: lease, until: end) }
            defer { group.cancelAll() }
            try await group.next()
        }
        try await write(draft, under: taken, until: end.withLockedValue { $0 })
    }

    /// Renews a lease until it is lost or the jar is closed. Returns the error for that.
    ///
    /// - Parameter latest: The end of the lease, which each renewal changes.
    private func renew(
        _ taken: JarWriter.Lease,
        of lease: LoginLease,
        until latest: NIOLockedValueBox<ContinuousClock.Instant>
    ) async throws -> RedisError {
        while true {
            let end = latest.withLockedValue { $0 }
            let pause = ContinuousClock.now + configuration.boundedLeaseLifetime / 3
            let isClosed = await context.progress.wait(until: min(pause, end)) { $0.isClosed }
            try Task.checkCancellation()
            if isClosed { return closed }
            // A call may hang for longer than the lease lasts.
            let renewed = await result(before: end) { [leases] in
                await leases.run { session -> Result<ContinuousClock.Instant?, RedisFault> in
                    Result { () throws(RedisFault) in try lease.renew(taken, in: session) }
                }
            }
            switch renewed ?? nil {
            case .success(let next?): latest.withLockedValue { $0 = next }
            case .success(nil): return leaseLost
            case nil:
                // The login may have ended for another reason during the call. Then the lease is released.
                try Task.checkCancellation()
                return context.progress.values.isClosed ? closed : leaseLost
            // The server may return before the lease ends.
            case .failure: if ContinuousClock.now >= end { return leaseLost }
            }
        }
    }

    /// Writes the changes of a login. If the server cannot be used, tries again until the lease ends: the script checks
    /// the lease and the versions, so it may run twice.
    private func write(
        _ draft: LoginDraft,
        under lease: JarWriter.Lease,
        until end: ContinuousClock.Instant
    ) async throws {
        guard let changes = draft.take(at: context.recorder.stamp) else {
            throw RedisError(
                .tooManyChanges,
                "the login changed more than \(LoginDraft.maxChanges) cookies; nothing of it was kept"
            )
        }
        let writer = JarWriter(context: context)
        // A reply may be lost after its write.
        var mayBeWritten = false
        while true {
            do {
                let serial = try await call { session throws(RedisFault) in
                    try writer.write(changes, in: session, under: lease)
                }
                if serial != nil { return }
                throw mayBeWritten ? leaseLostAfterWrite : leaseLost
            } catch let error as RedisError where error.code == .unavailable {
                mayBeWritten = true
                let next = ContinuousClock.now + .milliseconds(500)
                guard next < end else { throw error }
                let isClosed = await context.progress.wait(until: next) { $0.isClosed }
                try Task.checkCancellation()
                if isClosed { throw closed }
            }
        }
    }

    private var leaseLostAfterWrite: RedisError {
        RedisError(
            .leaseLost,
            "the server was away when the login ended, and then its lease had ended; its changes may have been written"
        )
    }

    private var leaseLost: RedisError {
        RedisError(.leaseLost, "the lease of the login ended before the login did; nothing of it was kept")
    }
}
#endif
