// SPDX-License-Identifier: Apache-2.0

import Beeline
import CookieJar

/// Runs a plan: its transfers in sequence with one client, so that they share connections, DNS answers and cookies.
struct FetchRunner: Sendable {
    let plan: FetchPlan
    private let client: BeelineClient
    private let jar: OpenJar?
    /// Messages about the cookies for the user, one line each.
    private let messages: [String]

    /// Opens the jar and makes the client.
    ///
    /// - Throws: ``CommandFailure`` for invalid upstreams and unreadable cookies.
    init(_ plan: FetchPlan) async throws(CommandFailure) {
        self.plan = plan
        var configuration = plan.client
        if plan.needsNoNames { configuration.upstreams = [] }
        var memory = plan.hasCookies ? CookieJar(configuration: plan.jarBounds) : nil
        // Read the files before opening the jar: the jar's own file may be among them.
        var cookies: [(path: String, cookies: [Cookie])] = []
        for file in plan.cookieFiles {
            let found = try await file.cookies(from: plan.transfers.first?.url)
            cookies.append((file.path, plan.dropsSessionCookies ? found.filter { $0.expires != nil } : found))
        }
        if let hosts = configuration.hsts { try await plan.hsts.read(into: hosts) }
        var messages: [String] = []
        if let file = plan.jar {
            let open = try await OpenJar(file, bounds: plan.jarBounds)
            memory = open.jar
            messages = open.messages
            jar = open
        } else {
            jar = nil
        }
        if let memory {
            for (path, cookies) in cookies {
                let insertion = CookieInsertion(cookies, into: memory, isOfThisSession: false)
                messages += insertion.messages(of: path, plan.jarBounds)
            }
        }
        self.messages = messages
        do {
            client = try BeelineClient(configuration, jar: memory)
        } catch {
            await jar?.abandon()
            throw CommandFailure(.usage, error.message)
        }
    }

    /// Runs the parts of a command line and returns the exit status.
    static func run(_ session: FetchSession) async -> CommandStatus {
        var status = CommandStatus.ok
        for plan in session.parts where !Task.isCancelled { status = await run(plan) }
        return status
    }

    private static func run(_ plan: FetchPlan) async -> CommandStatus {
        do throws(CommandFailure) {
            let runner = try await FetchRunner(plan)
            return await runner.run()
        } catch {
            if plan.showsErrors { error.print() }
            return error.status
        }
    }

    /// Runs all transfers. Returns the exit status of the last failed transfer, or `ok`.
    func run() async -> CommandStatus {
        var status = CommandStatus.ok
        if !plan.isSilent, !plan.reports {
            for message in messages {
                Terminal.standardError.writeLine("beeline: \(message.singleLine)")
            }
        }
        await client.resolver.enterNetworkOfIPv6Alone()
        do {
            var heads = OutputSink(plan.dumpHeader ?? .standardOutput(isNamed: true))
            try heads.open(.truncate)
            for transfer in plan.transfers where !Task.isCancelled {
                let run = TransferRun(plan: plan, client: client, transfer: transfer, heads: heads)
                let record = await run.run()
                if record.status != .ok { status = record.status }
            }
            try heads.close()
        } catch {
            tell(error)
            status = error.status
        }
        // Save the cookies even after a failed transfer, to keep earlier logins.
        do {
            try await saveCookies()
        } catch {
            tell(error)
            if status == .ok { status = error.status }
        }
        do {
            if let hosts = client.configuration.hsts { try await plan.hsts.save(hosts) }
        } catch {
            tell(error)
            if status == .ok { status = error.status }
        }
        // An interrupted command skips the graceful shutdown, to exit quickly.
        if !Task.isCancelled { await client.shutDown() }
        return status
    }

    private func tell(_ failure: CommandFailure) {
        if plan.showsErrors { failure.print() }
    }

    private func saveCookies() async throws(CommandFailure) {
        // A failure to save one jar must not prevent saving the other.
        let written: Result<Void, CommandFailure>
        do throws(CommandFailure) {
            written = .success(try await jar?.save() ?? ())
        } catch {
            written = .failure(error)
        }
        if let jar = client.jar { try plan.cookieJar?.save(jar, isCurls: true) }
        try written.get()
    }
}
