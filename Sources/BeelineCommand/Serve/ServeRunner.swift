// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineServer

/// Runs the server until the task is cancelled.
struct ServeRunner: Sendable {
    let client: ClientConfiguration
    let plan: ServePlan
    let reload: ReloadSignal

    func run() async throws(CommandFailure) -> CommandStatus {
        let client = try BeelineClient.make(self.client)
        let log = try AccessLog(plan.accessLog, format: plan.accessLogFormat)
        let server: HTTPDNSServer
        let endpoint: Endpoint
        do throws(ServerError) {
            server = try HTTPDNSServer(plan.configuration(log: log?.add), resolver: client.resolver)
            endpoint = try await server.start()
        } catch {
            throw CommandFailure(error)
        }
        let scheme = plan.configuration.tls == nil ? "http" : "https"
        do throws(CommandFailure) {
            try StandardOutput.writeLine("listening on \(scheme)://\(endpoint)")
        } catch {
            // Without this output, programs cannot find the server.
            await server.close()
            throw error
        }
        reload.onArrival { [plan] in Self.reload(server, log: log, plan: plan) }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await client.run() }
            // On cancellation, the server finishes open requests before it returns.
            group.addTask { await server.run() }
            await group.waitForAll()
        }
        reload.cancel()
        // Write the lines of the last requests as well.
        await log?.finish()
        await client.shutDown()
        return .ok
    }

    /// Reloads the files and reopens the log. An error is printed and changes nothing.
    private static func reload(_ server: HTTPDNSServer, log: AccessLog?, plan: ServePlan) {
        // Reopen the log separately: an invalid zone must not prevent log rotation.
        log?.reload()
        do {
            try server.reload(accounts: try plan.accounts())
            Terminal.log("zones, certificate and accounts were reloaded")
        } catch {
            // The server counts its own errors.
            if error is CommandFailure { server.noteReloadFailure() }
            Terminal.log("nothing was changed: \(error)")
        }
    }
}

extension CommandFailure {
    /// Makes a failure from a server that does not start.
    init(_ error: ServerError) {
        self.init(error.code == .cannotListen ? .connectFailed : .usage, error.message)
    }
}
