// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineServer
import Dispatch

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// Runs the server until the task is cancelled.
struct ServeRunner: Sendable {
    private let client: ClientConfiguration
    private let plan: ServePlan

    init(_ client: ClientConfiguration, _ plan: ServePlan) {
        self.client = client
        self.plan = plan
    }

    func run() async throws(CommandFailure) -> CommandStatus {
        let client: BeelineClient
        do {
            client = try BeelineClient(self.client, jar: nil)
        } catch {
            throw CommandFailure(.usage, error.message)
        }
        let log = try AccessLog(plan.accessLog)
        let server: HTTPDNSServer
        let endpoint: Endpoint
        do throws(ServerError) {
            server = try HTTPDNSServer(plan.configuration(log: log?.add), resolver: client.resolver)
            endpoint = try await server.start()
        } catch {
            throw CommandFailure(error.code == .cannotListen ? .connectFailed : .usage, error.message)
        }
        let scheme = plan.configuration.tls == nil ? "http" : "https"
        do throws(CommandFailure) {
            try StandardOutput.writeLine("listening on \(scheme)://\(endpoint)")
        } catch {
            // Without this output, programs cannot find the server.
            await server.stop()
            throw error
        }
        let reload = reloading(server, log)
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

    /// Reloads the files and reopens the log at SIGHUP. An error is printed and changes nothing.
    private func reloading(_ server: HTTPDNSServer, _ log: AccessLog?) -> any DispatchSourceSignal {
        signal(SIGHUP, SIG_IGN)
        let source = DispatchSource.makeSignalSource(signal: SIGHUP, queue: .global())
        source.setEventHandler { [plan] in
            // Reopen the log separately: an invalid zone must not prevent log rotation.
            do {
                try log?.reopen()
            } catch {
                Terminal.standardError.writeLine("beeline: the access log was not reopened: \(error)".singleLine)
            }
            do {
                try server.reload(accounts: try plan.accounts())
                Terminal.standardError.writeLine("beeline: zones, certificate and accounts were reloaded")
            } catch {
                Terminal.standardError.writeLine("beeline: nothing was changed: \(error)".singleLine)
            }
        }
        source.resume()
        return source
    }
}
