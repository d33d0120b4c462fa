// SPDX-License-Identifier: Apache-2.0

import Beeline

/// Carries out a plan: its transfers one after the other, over one client, so that they share connections, answers and cookies.
struct FetchRunner: Sendable {
    let plan: FetchPlan
    private let client: BeelineClient

    /// - Throws: ``CommandFailure`` for upstreams that cannot be asked.
    init(_ plan: FetchPlan) throws(CommandFailure) {
        self.plan = plan
        do {
            client = try BeelineClient(plan.client)
        } catch {
            throw CommandFailure(.usage, error.message)
        }
    }

    /// Fetches everything, and says with which code to exit: that of the last transfer that failed.
    func run() async -> CommandStatus {
        var status = CommandStatus.ok
        do {
            try loadCookies()
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
            try saveCookies()
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

    private func loadCookies() throws(CommandFailure) {
        guard let jar = plan.client.jar else { return }
        for file in plan.cookieFiles { try file.load(into: jar) }
        try plan.jar?.load(into: jar)
    }

    private func saveCookies() throws(CommandFailure) {
        guard let jar = plan.client.jar else { return }
        try plan.jar?.save(jar)
        try plan.cookieJar?.save(jar)
    }

    /// The heads of all transfers are added to one file, which begins empty.
    private func truncateHeaderDump() throws(CommandFailure) {
        guard let path = plan.dumpHeader, path != "-" else { return }
        var sink = OutputSink(.file(path))
        try sink.open(.truncate)
        try sink.close()
    }
}
