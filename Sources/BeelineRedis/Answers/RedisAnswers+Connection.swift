// SPDX-License-Identifier: Apache-2.0

#if Redis
import HTTPDNS
import NIOConcurrencyHelpers
import NIOPosix
import Names

/// The queue of commands and the work on the connection's thread.
extension RedisAnswers {
    /// Executes commands. Nil if the server is unavailable, or at once if the task is cancelled.
    ///
    /// - Parameter kind: The kind of the commands. If the connection is not up yet, commands that share an answer are
    ///   executed later, and the caller gets nil at once.
    func ask(_ commands: [RedisCommand], _ kind: Job.Kind = .read) async -> [RedisValue]? {
        let id = state.withLockedValue { state in
            state.lastWaiter += 1
            return state.lastWaiter
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
                let (waits, mustStart) = state.withLockedValue { state in
                    if kind == .read, Task.isCancelled { return (false, false) }
                    let (isTaken, mustStart) = add(commands, kind, waiter: id, to: &state)
                    let waits = isTaken && state.isUp && !Task.isCancelled
                    if waits { state.waiters[id] = waiter }
                    return (waits, mustStart)
                }
                if !waits { waiter.resume(returning: nil) }
                if mustStart { begin() }
            }
        } onCancel: {
            let waiter = state.withLockedValue { state in
                // Only questions leave the queue: answers are shared and counters are added to without their callers.
                state.waiting.removeAll { $0.waiter == id && $0.kind == .read }
                return state.waiters.removeValue(forKey: id)
            }
            waiter?.resume(returning: nil)
        }
    }

    /// Adds a job to the queue if the server can be used. Returns whether the thread must start.
    private func add(
        _ commands: [RedisCommand],
        _ kind: Job.Kind,
        waiter: Int,
        to state: inout State
    ) -> (isTaken: Bool, mustStart: Bool) {
        guard !state.isClosed else { return (false, false) }
        if case .away(let until) = state.link {
            guard until <= clock.now else { return (false, false) }
            state.link = .connecting
        }
        let mustStart = !state.isBusy
        if mustStart { state.isBusy = true }
        guard kind == .share || state.isUp, state.waiting.count < configuration.maxWaiting else {
            return (false, mustStart)
        }
        let limit = clock.now + (kind == .share ? Self.shareLimit : configuration.boundedTimeout)
        let asker = state.isUp ? waiter : nil
        state.waiting.append(Job(commands: commands, kind: kind, limit: limit, waiter: asker))
        return (true, mustStart)
    }

    /// Gives the caller of a job its replies, unless it was cancelled.
    func resume(_ job: Job, with replies: [RedisValue]?) {
        guard let id = job.waiter else { return }
        state.withLockedValue { $0.waiters.removeValue(forKey: id) }?.resume(returning: replies)
    }

    /// Starts the work on the thread.
    func begin() { thread.submit { [self] in if case .active = $0 { work() } } }

    /// Runs on the thread until the queue is empty.
    private func work() {
        RedisLink.blockPipeSignal()
        links.withLockedValue { links in
            while let step = next() {
                switch step {
                case .connect: connect(&links)
                case .giveUp(let jobs):
                    for job in jobs { resume(job, with: nil) }
                case .carryOut(let jobs): carryOut(jobs, &links)
                }
            }
        }
    }

    /// Executes the commands of jobs, on a new connection if the server has closed the present one.
    private func carryOut(_ jobs: [Job], _ links: inout AnswerLinks) {
        var jobs = jobs
        if !links.isUsable { connect(&links) }
        var replies = links.exchange(jobs.flatMap(\.commands))
        if replies == nil, links.wasCut {
            // The server may have restarted, so retry once. Do not retry counters: the server may have added the number
            // already.
            for job in jobs where job.kind == .count { resume(job, with: nil) }
            jobs.removeAll { $0.kind == .count }
            connect(&links)
            guard !jobs.isEmpty else { return }
            replies = links.exchange(jobs.flatMap(\.commands))
        }
        note(replies, hasWritten: jobs.contains { $0.kind == .share }, &links)
        var rest = (replies ?? [])[...]
        for job in jobs {
            resume(job, with: replies.map { _ in Array(rest.prefix(job.commands.count)) })
            rest = rest.dropFirst(job.commands.count)
        }
        if links.wanted != nil { openShard(&links) }
    }

    /// Connects to another server of the cluster. As at the first connection, questions do not wait for it, and those
    /// in the queue end without an answer.
    private func openShard(_ links: inout AnswerLinks) {
        let jobs = state.withLockedValue { state -> [Job]? in
            guard state.isUp, !state.isClosed else { return nil }
            state.link = .connecting
            defer { state.waiting.removeAll { $0.kind != .share } }
            return state.waiting
        }
        guard let jobs else { return }
        for job in jobs { resume(job, with: nil) }
        links.openWanted()
        for fault in links.takeFaults() { report(fault) }
        state.withLockedValue { $0.link = .up }
    }

    /// Decides by the replies whether the server can be used.
    private func note(_ replies: [RedisValue]?, hasWritten: Bool, _ links: inout AnswerLinks) {
        for fault in links.takeFaults() { report(fault) }
        guard links.isOpen else { return }
        // A refusal counts as a failure; otherwise the server would look like a cache without answers.
        let refusal = replies?.lazy.compactMap(\.refusal).first
        state.withLockedValue { state in
            if refusal != nil { state.isRefused = true }
            guard replies != nil, refusal == nil, hasWritten || !state.isRefused else { return }
            state.pause.reset()
            state.isRefused = false
            if links.areAllUp { state.reported = [] }
        }
        guard let fault = replies == nil ? links.fault : refusal else { return }
        links.close()
        pauseUse(fault)
    }

    /// Opens a connection. If that fails, pauses the use of the server.
    private func connect(_ links: inout AnswerLinks) {
        do throws(RedisFault) {
            try links.connect()
            state.withLockedValue { $0.link = .up }
        } catch {
            pauseUse(error.reason)
        }
    }

    /// The next step of the thread.
    private enum Step {
        case connect
        case carryOut([Job])
        /// The time limits of these jobs have passed.
        case giveUp([Job])
    }

    /// The next step. Nil if the thread has nothing to do.
    private func next() -> Step? {
        state.withLockedValue { state in
            if case .connecting = state.link, !state.isClosed { return .connect }
            guard !state.waiting.isEmpty else {
                state.isBusy = false
                return nil
            }
            let now = clock.now
            let late = state.waiting.filter { $0.limit < now }
            if !late.isEmpty {
                state.waiting.removeAll { $0.limit < now }
                return .giveUp(late)
            }
            let jobs = Array(state.waiting.prefix(Self.batchSize))
            state.waiting.removeFirst(jobs.count)
            return .carryOut(jobs)
        }
    }

    /// Pauses the use of the server, and reports the reason.
    private func pauseUse(_ reason: String) {
        state.withLockedValue { $0.link = .away(until: clock.now + $0.pause.next()) }
        report(reason)
    }

    /// Reports a reason if it is new.
    private func report(_ reason: String) {
        let isNew = state.withLockedValue { state in
            !state.isClosed && state.reported.count < Self.maxReported && state.reported.insert(reason).inserted
        }
        if isNew { configuration.onUnavailable?(reason) }
    }
}
#endif
