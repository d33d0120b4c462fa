// SPDX-License-Identifier: Apache-2.0

#if Redis
public import CookieJar
public import Names

extension RedisJar {
    /// Makes sure that the jar is logged in at an origin, with one login for all processes.
    ///
    /// One process logs in under a lease on the server. The others wait for its cookies. If it ends or loses the server, the lease
    /// ends, and the next process logs in. The login works on a copy of the jar, and its changes are written in one step when it
    /// has succeeded. Under a lease that has ended, nothing is written.
    ///
    /// ```swift
    /// let outcome = try await shared.withLogin(for: url.origin) { jar in
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
    ///   - limit: The maximum time to wait for another process's login. An own login may take longer. Default: 60 seconds.
    ///   - isLoggedIn: Whether the cookies of a jar are those of a login. Called again after changes of the jar.
    ///   - logIn: Logs in with the given jar, a copy of ``jar``. Cancelled if the lease is lost.
    /// - Returns: Whether this process logged in.
    /// - Throws: The errors of the closures, and ``RedisError``: `unavailable` without the server, `timedOut`, `leaseLost`,
    ///   `closed`.
    public func withLogin(
        for origin: Origin,
        within limit: Duration = .seconds(60),
        isLoggedIn: (CookieJar) async throws -> Bool,
        logIn: @escaping @Sendable (CookieJar) async throws -> Void
    ) async throws -> LoginOutcome {
        if try await isLoggedIn(jar) { return .alreadyLoggedIn }
        let deadline = ContinuousClock.now + min(max(limit, .zero), .seconds(86_400))
        let lease = LoginLease(context: context, label: context.coding.label(of: "\(origin)"))
        while true {
            try Task.checkCancellation()
            switch try await acquire(lease) {
            case .taken(let taken, let end, let serial):
                do {
                    // The login of another process may have ended just before.
                    let patience = max(deadline, ContinuousClock.now + configuration.redis.timeout)
                    try await read(upTo: serial, until: min(patience, end))
                    if try await isLoggedIn(jar) {
                        await release(lease, taken)
                        return .loggedInByAnother
                    }
                    // Another process may have the lease by now: take it again before the site is asked.
                    guard ContinuousClock.now < end else {
                        await release(lease, taken)
                        continue
                    }
                    try await run(logIn, under: taken, of: lease, until: end)
                    await release(lease, taken)
                    return .loggedIn
                } catch {
                    await release(lease, taken)
                    throw error
                }
            case .held(let left):
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
    private func read(upTo serial: Int64, until deadline: ContinuousClock.Instant) async throws(RedisError) {
        let surveys = context.progress.values.surveys
        let isRead = await context.progress.wait(until: deadline) {
            $0.isCurrent && ($0.serial >= serial || $0.surveys > surveys)
        }
        guard isRead else { throw unavailable(within: configuration.redis.timeout) }
    }

    private func acquire(_ lease: LoginLease) async throws(RedisError) -> LoginLease.Outcome {
        let result = await leases.run { session -> Result<LoginLease.Outcome, RedisFault> in
            Result { () throws(RedisFault) in try lease.acquire(in: session) }
        }
        switch result {
        case .success(let outcome): return outcome
        case .failure(let fault):
            context.fail(fault)
            throw unavailable(within: configuration.redis.timeout)
        case nil: throw RedisError(.closed, "the jar \(configuration.name) was closed; open it again")
        }
    }

    private func release(_ lease: LoginLease, _ taken: JarWriter.Lease) async {
        // In a task of its own: a cancelled login gives its lease back too.
        _ = await Task { [leases] in await leases.run { lease.release(taken, in: $0) } }.value
    }

    /// Runs a login while its lease is renewed, and writes its changes under the lease.
    private func run(
        _ logIn: @escaping @Sendable (CookieJar) async throws -> Void,
        under taken: JarWriter.Lease,
        of lease: LoginLease,
        until end: ContinuousClock.Instant
    ) async throws {
        let (copy, draft) = LoginDraft.copy(of: context, limits: limits)
        let isKept = try await withThrowingTaskGroup(of: Bool.self) { group in
            group.addTask {
                try await logIn(copy)
                return true
            }
            group.addTask { [leases, configuration] in
                var end = end
                while true {
                    let pause = configuration.boundedLeaseLifetime / 3
                    try await Task.sleep(until: min(ContinuousClock.now + pause, end), clock: .continuous)
                    let renewed = await leases.run { session -> Result<ContinuousClock.Instant?, RedisFault> in
                        Result { () throws(RedisFault) in try lease.renew(taken, in: session) }
                    }
                    switch renewed {
                    case .success(let next?): end = next
                    case .success(nil), nil: return false
                    // The server may return before the lease ends.
                    case .failure: if ContinuousClock.now >= end { return false }
                    }
                }
            }
            defer { group.cancelAll() }
            return try await group.next() ?? false
        }
        guard isKept else { throw leaseLost }
        try await write(draft, under: taken)
    }

    private func write(_ draft: LoginDraft, under lease: JarWriter.Lease) async throws {
        guard let changes = draft.take() else {
            throw RedisError(
                .tooManyChanges,
                "the login changed more than \(LoginDraft.maxChanges) cookies; nothing of it was kept"
            )
        }
        let writer = JarWriter(context: context)
        let result = await leases.run { session -> Result<Int64?, RedisFault> in
            Result { () throws(RedisFault) in try writer.write(changes, in: session, under: lease) }
        }
        switch result {
        case .success(.some):
            // Own jar first: the feed would bring them a little later.
            context.apply(
                changes.map { entry in
                    let cookie = entry.kind == .stored ? entry.cookie : nil
                    return JarUpdate(key: CookieKey(entry.cookie), version: entry.updated, cookie: cookie)
                }
            )
        case .success(nil): throw leaseLost
        case .failure(let fault):
            context.fail(fault)
            throw unavailable(within: configuration.redis.timeout)
        case nil: throw RedisError(.closed, "the jar \(configuration.name) was closed; open it again")
        }
    }

    private var leaseLost: RedisError {
        RedisError(.leaseLost, "the lease of the login ended before the login did; nothing of it was kept")
    }
}
#endif
