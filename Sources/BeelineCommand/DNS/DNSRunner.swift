// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineServer

/// Runs the DNS server until the task is cancelled.
struct DNSRunner: Sendable {
    private let plan: DNSPlan
    private let reload: ReloadSignal

    init(_ plan: DNSPlan, reload: ReloadSignal) {
        self.plan = plan
        self.reload = reload
    }

    func run() async throws(CommandFailure) -> CommandStatus {
        let client = try Self.client(plan.client)
        var clients = [client]
        var domains: DomainMap<Resolver> = [:]
        for group in plan.groups {
            let own = try group.client.map { configuration throws(CommandFailure) in try Self.client(configuration) }
            if let own { clients.append(own) }
            for domain in group.domains { domains.set(domain, (own ?? client).resolver) }
        }
        let log = try AccessLog(plan.accessLog, format: plan.accessLogFormat)
        let server: DNSServer
        let endpoints: (plain: Endpoint, tls: Endpoint?)
        do throws(ServerError) {
            server = try DNSServer(plan.configuration(domains: domains, log: log?.add), resolver: client.resolver)
            endpoints = try await server.start()
        } catch {
            throw Self.failure(error)
        }
        do throws(CommandFailure) {
            let tls = endpoints.tls.map { " and tls://\($0)" } ?? ""
            try StandardOutput.writeLine("listening on dns://\(endpoints.plain)\(tls)")
        } catch {
            // Without this output, programs cannot find the server.
            await server.stop()
            throw error
        }
        reload.onArrival { Self.reload(server, log: log) }
        await withTaskGroup(of: Void.self) { [clients] group in
            for client in clients { group.addTask { await client.run() } }
            // On cancellation, the server finishes open questions before it returns.
            group.addTask { await server.run() }
            await group.waitForAll()
        }
        reload.cancel()
        // Write the lines of the last questions as well.
        await log?.finish()
        for client in clients { await client.shutDown() }
        return .ok
    }

    private static func client(_ configuration: ClientConfiguration) throws(CommandFailure) -> BeelineClient {
        do {
            return try BeelineClient(configuration, jar: nil)
        } catch {
            throw CommandFailure(.usage, error.message)
        }
    }

    private static func failure(_ error: ServerError) -> CommandFailure {
        CommandFailure(error.code == .cannotListen ? .connectFailed : .usage, error.message)
    }

    /// Reloads the files and reopens the log. An error is printed and changes nothing.
    private static func reload(_ server: DNSServer, log: AccessLog?) {
        do {
            try log?.reopen()
        } catch {
            Terminal.standardError.writeLine("beeline: the access log was not reopened: \(error)".singleLine)
        }
        do {
            try server.reload()
            Terminal.standardError.writeLine("beeline: lists, zones and certificate were reloaded")
        } catch {
            Terminal.standardError.writeLine("beeline: nothing was changed: \(error)".singleLine)
        }
    }
}
