// SPDX-License-Identifier: Apache-2.0

import Beeline

/// Carries out a plan: its transfers one after the other, over one client, so that they share connections, answers and cookies.
struct FetchRunner: Sendable {
    let plan: FetchPlan
    private let client: BeelineClient
    private let jar: OpenJar?

    /// Opens the jar and makes the client.
    ///
    /// - Throws: ``CommandFailure`` for upstreams that cannot be asked, and for cookies that cannot be read.
    init(_ plan: FetchPlan) async throws(CommandFailure) {
        self.plan = plan
        var configuration = plan.client
        // Before the jar is opened: one of the files may be the jar's own.
        var cookies: [Cookie] = []
        for file in plan.cookieFiles { cookies += try await file.cookies(from: plan.transfers.first?.url) }
        if let memory = configuration.jar, let file = plan.jar {
            let open = try await OpenJar(file, jar: memory)
            configuration.jar = open.jar
            jar = open
        } else {
            jar = nil
        }
        configuration.jar?.insert(cookies, isOfThisSession: false)
        do {
            client = try BeelineClient(configuration)
        } catch {
            await jar?.abandon()
            throw CommandFailure(.usage, error.message)
        }
    }

    /// Carries out a plan, and says with which code to exit.
    static func run(_ plan: FetchPlan) async -> CommandStatus {
        do throws(CommandFailure) {
            let runner = try await FetchRunner(plan)
            return await runner.run()
        } catch {
            if plan.showsErrors { error.print() }
            return error.status
        }
    }

    /// Fetches everything, and says with which code to exit: that of the last transfer that failed.
    func run() async -> CommandStatus {
        var status = CommandStatus.ok
        if !plan.isSilent, !plan.reports {
            for message in jar?.messages ?? [] {
                Terminal.standardError.writeLine("beeline: \(message.singleLine)")
            }
        }
        await client.resolver.enterNetworkOfIPv6Alone()
        do {
            try truncateHeaderDump()
            for transfer in plan.transfers where !Task.isCancelled {
                let record = await TransferRun(plan: plan, client: client, transfer: transfer).run()
                if record.status != .ok { status = record.status }
            }
        } catch {
            tell(error)
            status = error.status
        }
        // Those who logged in before a later transfer failed stay logged in.
        do {
            try await saveCookies()
        } catch {
            tell(error)
            if status == .ok { status = error.status }
        }
        // An interrupted command has no time to take leave of its connections.
        if !Task.isCancelled { await client.shutDown() }
        return status
    }

    private func tell(_ failure: CommandFailure) {
        if plan.showsErrors { failure.print() }
    }

    private func saveCookies() async throws(CommandFailure) {
        try await jar?.save()
        if let jar = client.configuration.jar { try plan.cookieJar?.save(jar) }
    }

    /// The heads of all transfers are added to one file, which begins empty.
    private func truncateHeaderDump() throws(CommandFailure) {
        guard let path = plan.dumpHeader, path != "-" else { return }
        var sink = OutputSink(.file(path))
        try sink.open(.truncate)
        try sink.close()
    }
}
