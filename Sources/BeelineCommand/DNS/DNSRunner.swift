// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineServer
import NIOConcurrencyHelpers

/// Runs the DNS server until the task is cancelled.
struct DNSRunner: Sendable {
    private let plan: DNSPlan
    /// Reads the files of the arguments again.
    private let readAgain: @Sendable () throws(CommandFailure) -> DNSPlan
    private let reload: ReloadSignal
    private let clients = NIOLockedValueBox(DNSClients())

    /// What a task of ``run()`` has waited for.
    private enum Step: Sendable {
        /// A change of the upstreams; nil after the last one.
        case changed(DNSClients.Change?)
        /// The end of the server or of a client; not nil for a replaced client that open questions still need.
        case ended(BeelineClient?)
    }

    init(_ plan: DNSPlan, reload: ReloadSignal, readAgain: @escaping @Sendable () throws(CommandFailure) -> DNSPlan) {
        self.plan = plan
        self.reload = reload
        self.readAgain = readAgain
    }

    func run() async throws(CommandFailure) -> CommandStatus {
        let (resolvers, first) = try use(plan).get()
        let log = try AccessLog(plan.accessLog, format: plan.accessLogFormat)
        let server: DNSServer
        let endpoints: (plain: [Endpoint], tls: [Endpoint], metrics: Endpoint?)
        do throws(ServerError) {
            server = try DNSServer(
                plan.configuration(domains: resolvers.domains, log: log?.add),
                resolver: resolvers.main
            )
            endpoints = try await server.start()
        } catch {
            throw CommandFailure(error)
        }
        do throws(CommandFailure) {
            let places =
                endpoints.plain.map { "dns://\($0)" } + endpoints.tls.map { "tls://\($0)" }
                + [endpoints.metrics].compactMap { $0.map { "http://\($0)" } }
            try StandardOutput.writeLine("listening on \(places.joined(separator: " and "))")
        } catch {
            // Without this output, programs cannot find the server.
            await server.close()
            throw error
        }
        let (changes, continuation) = AsyncStream.makeStream(of: DNSClients.Change.self)
        continuation.yield(first)
        // Files are read on the signal's thread, because a disk may block.
        reload.onArrival { continuation.yield(change(server, log: log)) }
        let replaced = await withTaskGroup(of: Step.self) { group in
            // On cancellation, the server finishes open questions before it returns.
            group.addTask {
                await server.run()
                return .ended(nil)
            }
            group.addTask { .changed(await changes.first { _ in true }) }
            var replaced: [BeelineClient] = []
            // The group keeps the result of a task until it is read here.
            for await step in group {
                switch step {
                case .ended(let client): replaced += [client].compactMap(\.self)
                case .changed(nil): break
                case .changed(let change?):
                    for client in change.added {
                        group.addTask {
                            await client.run()
                            return .ended(nil)
                        }
                    }
                    for client in change.removed {
                        group.addTask { .ended(await Self.end(client) ? nil : client) }
                    }
                    group.addTask { .changed(await changes.first { _ in true }) }
                }
            }
            return replaced
        }
        reload.cancel()
        // Write the lines of the last questions as well.
        await log?.finish()
        for client in replaced + clients.withLockedValue({ $0.all }) { await client.shutDown() }
        return .ok
    }

    private func use(_ plan: DNSPlan) -> Result<(DNSClients.Resolvers, DNSClients.Change), CommandFailure> {
        clients.withLockedValue { clients in
            Result { () throws(CommandFailure) in try clients.use(plan) }
        }
    }

    /// Shuts down a replaced client after its last questions are answered. Returns false if the server stops before
    /// that, because those questions still need the client.
    private static func end(_ client: BeelineClient) async -> Bool {
        let wait = client.resolver.configuration.limits.total + .seconds(1)
        guard (try? await ContinuousClock().sleep(for: wait)) != nil else { return false }
        await client.shutDown()
        return true
    }

    /// Reloads the files and reopens the log. An error is printed and changes nothing.
    ///
    /// - Returns: The clients to start and to end.
    private func change(_ server: DNSServer, log: AccessLog?) -> DNSClients.Change {
        log?.reload()
        let before = clients.withLockedValue { $0 }
        var unused: [BeelineClient] = []
        do {
            let (resolvers, change) = try use(try readAgain()).get()
            unused = change.added
            try server.reload(resolver: resolvers.main, resolversByDomain: resolvers.domains)
            Terminal.log("upstreams, lists, zones and certificate were reloaded")
            return change
        } catch {
            // The server counts its own errors.
            if error is CommandFailure { server.noteReloadFailure() }
            clients.withLockedValue { $0 = before }
            Terminal.log("nothing was changed: \(error)")
            return DNSClients.Change(removed: unused)
        }
    }
}
