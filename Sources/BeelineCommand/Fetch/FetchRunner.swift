// SPDX-License-Identifier: Apache-2.0

import Beeline
import CookieJar

/// Runs the transfers of a command line, in sequence or at the same time. Parts with the same settings share a client,
/// with its connections and DNS answers. All parts share the cookies.
struct FetchRunner: Sendable {
    private let session: FetchSession
    private let clients: [BeelineClient]
    /// The position in ``clients`` of each part's client.
    private let clientOfPart: [Int]
    private let cookies: SessionCookies
    /// The hosts that require TLS, for all clients.
    private let hosts = HSTSStore()
    private let hstsFiles: HSTSFiles
    /// Messages about the files of `--hsts` for the user.
    private let hstsMessages: [String]
    private let board: ProgressBoard

    /// Runs the parts of a command line and returns the exit status: that of the last transfer, as in curl.
    static func run(_ session: FetchSession) async -> CommandStatus {
        do throws(CommandFailure) {
            let runner = try await FetchRunner(session)
            return await runner.run()
        } catch {
            if session.settings.printsErrors { error.print() }
            return error.status
        }
    }

    /// Opens the jar and makes the clients.
    ///
    /// - Throws: ``CommandFailure`` for invalid upstreams and unreadable cookies.
    private init(_ session: FetchSession) async throws(CommandFailure) {
        self.session = session
        board = ProgressBoard(session.settings, isHidden: session.parts.contains(where: \.command.output.hidesMeter))
        cookies = try await SessionCookies(session.parts)
        hstsFiles = HSTSFiles(session.parts.flatMap(\.command.cookies.hsts))
        do throws(CommandFailure) {
            hstsMessages = try await hstsFiles.read(into: hosts)
            (clients, clientOfPart) = try Self.clients(session, hosts: hosts, jar: cookies.jar)
        } catch {
            await cookies.abandon()
            throw error
        }
    }

    private static func clients(
        _ session: FetchSession,
        hosts: HSTSStore,
        jar: CookieJar?
    ) throws(CommandFailure) -> (clients: [BeelineClient], ofPart: [Int]) {
        var clients: [BeelineClient] = []
        var ofPart: [Int] = []
        for (index, plan) in session.parts.enumerated() {
            if let earlier = session.parts[..<index].firstIndex(where: { $0.clientKey == plan.clientKey }) {
                ofPart.append(ofPart[earlier])
                continue
            }
            var configuration = plan.client
            if session.needsNoNames(plan.clientKey) { configuration.upstreams = [] }
            ofPart.append(clients.count)
            clients.append(try BeelineClient.make(configuration, jar: plan.hasCookies ? jar : nil, hsts: hosts))
        }
        return (clients, ofPart)
    }

    private func run() async -> CommandStatus {
        if !session.settings.report { session.settings.warnings.map { "Warning: \($0)" }.forEach(warn) }
        for message in cookies.messages + hstsMessages + session.parts.flatMap(\.messages) { note(message) }
        if session.settings.printsNotes { session.parts.flatMap(\.warnings).forEach(warn) }
        for client in clients { await client.resolver.discoverNAT64() }
        var status: CommandStatus
        do throws(CommandFailure) {
            status =
                if let parallelism = session.settings.parallelism {
                    try await runParallel(atMost: parallelism)
                } else {
                    try await runSerial()
                }
        } catch {
            if session.settings.printsErrors { error.print() }
            status = error.status
        }
        board.finish()
        // Save the cookies even after a failed transfer, to keep earlier logins. A shared jar comes last, because its server
        // may be away.
        do throws(CommandFailure) { try await cookies.saveFiles(session.parts) } catch { note(error, in: &status) }
        do throws(CommandFailure) { try await hstsFiles.save(hosts) } catch { note(error, in: &status) }
        do throws(CommandFailure) { try await cookies.saveShared() } catch { note(error, in: &status) }
        // An interrupted command skips the graceful shutdown, to exit quickly.
        if !Task.isCancelled { for client in clients { await client.shutDown() } }
        return status
    }

    /// Prints a failure. It decides the exit code if nothing else has failed.
    private func note(_ failure: CommandFailure, in status: inout CommandStatus) {
        if session.settings.printsErrors { failure.print() }
        if status == .ok { status = failure.status }
    }

    private func note(_ message: String) {
        if session.settings.printsNotes { Terminal.log(message) }
    }

    /// Prints a note or a warning about the command line, which has curl's prefix.
    private func warn(_ message: String) {
        Terminal.standardError.writeLine(message.singleLine)
    }

    // MARK: The transfers

    private func runSerial() async throws(CommandFailure) -> CommandStatus {
        var status = CommandStatus.ok
        var start: ContinuousClock.Instant?
        try await forEachTransfer { run in
            if let start, let interval = session.interval {
                do { try await Task.sleep(until: start + interval) } catch { return false }
            }
            start = .now
            status = await run.run()
            return status == .ok || !session.settings.failsEarly
        }
        return status
    }

    /// Returns the status of the last failed transfer, as curl does.
    private func runParallel(atMost limit: Int) async throws(CommandFailure) -> CommandStatus {
        let result = await withTaskGroup(of: CommandStatus.self) { group -> Result<CommandStatus, CommandFailure> in
            var status = CommandStatus.ok
            var running = 0
            func collect() async -> Bool {
                guard let next = await group.next() else { return false }
                running -= 1
                // With --fail-early, the first failure cancels other transfers. These do not change the status.
                if next != .ok, status == .ok || !session.settings.failsEarly { status = next }
                if status != .ok, session.settings.failsEarly {
                    group.cancelAll()
                    return false
                }
                return true
            }
            do throws(CommandFailure) {
                try await forEachTransfer { run in
                    if running >= limit, await !collect() { return false }
                    running += 1
                    group.addTask { await run.run() }
                    return true
                }
            } catch {
                return .failure(error)
            }
            while await collect() {}
            return .success(status)
        }
        return try result.get()
    }

    /// Makes the transfers in order and passes each one to `body`, until `body` returns false.
    private func forEachTransfer(_ body: (TransferRun) async -> Bool) async throws(CommandFailure) {
        var id = 0
        var earlierURLs = 0
        for (index, plan) in session.parts.enumerated() {
            let client = clients[clientOfPart[index]]
            if index > 0 { try await cookies.load(plan).forEach(note) }
            let heads = try plan.dumpHeader?.open()
            var queue = TransferQueue(plan)
            while !Task.isCancelled, var transfer = try queue.next() {
                transfer.id = id
                transfer.number += earlierURLs
                id += 1
                let run = TransferRun(
                    plan: plan,
                    settings: session.settings,
                    client: client,
                    transfer: transfer,
                    heads: heads,
                    board: board
                )
                guard await body(run) else { return }
            }
            earlierURLs += plan.command.urls.count
            // Running transfers still write to this file. The end of the process closes it.
            if let heads, session.settings.parallelism == nil { try plan.dumpHeader?.close(heads) }
        }
    }
}
