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

/// Serves until it is told to end.
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
            client = try BeelineClient(self.client)
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
        try? FileDescriptor.standardOutput.write("listening on \(scheme)://\(endpoint)\n".utf8)
        let reload = reloading(server)
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await client.run() }
            group.addTask { await log?.run() }
            // The first of the three to end is the server, when the task is cancelled: it drains before it returns.
            group.addTask { await server.run() }
            await group.waitForAll()
        }
        reload.cancel()
        await client.shutDown()
        return .ok
    }

    /// Reads the files again at SIGHUP. What is wrong is told, and changes nothing.
    private func reloading(_ server: HTTPDNSServer) -> any DispatchSourceSignal {
        signal(SIGHUP, SIG_IGN)
        let source = DispatchSource.makeSignalSource(signal: SIGHUP, queue: .global())
        source.setEventHandler { [plan] in
            do {
                try server.reload(accounts: try plan.accounts())
                Terminal.standardError.writeLine("beeline: zones, certificate and accounts were read again")
            } catch {
                Terminal.standardError.writeLine("beeline: nothing was changed: \(error)".singleLine)
            }
        }
        source.resume()
        return source
    }
}

/// Lines of answered questions, written behind the event loops. Where the disk is slower than the questions, the oldest lines
/// that wait are dropped.
struct AccessLog: Sendable {
    private let file: FileDescriptor
    private let lines: AsyncStream<String>
    private let continuation: AsyncStream<String>.Continuation

    /// Lines that may wait.
    private static let capacity = 10_000

    /// Opens a file to append to, `-` for standard error; nil where no log is wanted.
    init?(_ path: String?) throws(CommandFailure) {
        guard let path else { return nil }
        do {
            file =
                path == "-" ? FileDescriptor(STDERR_FILENO) : try FileDescriptor.open(path, .append, permissions: 0o600)
        } catch {
            throw CommandFailure(.writeFailed, "--access-log \(path): \(error)")
        }
        (lines, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(Self.capacity))
    }

    /// Adds a line; called on event loops.
    var add: @Sendable (AccessRecord) -> Void {
        { [continuation] record in continuation.yield(Self.line(record)) }
    }

    /// Writes lines until the task is cancelled.
    func run() async {
        for await line in lines { try? file.write(line.utf8) }
    }

    /// `CLIENT FORM ACCOUNT NAMES TYPES STATUS OUTCOME SOURCE OCTETS MICROSECONDS`, `-` for what there is not.
    static func line(_ record: AccessRecord) -> String {
        let microseconds =
            record.time.components.seconds * 1_000_000 + record.time.components.attoseconds / 1_000_000_000_000
        let date = CookieTime.now.httpDate
        let words = [
            "\(record.client)", record.form.rawValue, record.account ?? "-", record.names.isEmpty ? "-" : record.names,
            record.types.isEmpty ? "-" : record.types, "\(record.status)", record.outcome, record.source,
            "\(record.octets)", "\(microseconds)",
        ]
        let line = words.map { $0.split(separator: " ").joined(separator: "_") }.joined(separator: " ")
        return "[\(date)] \(line)".singleLine + "\n"
    }
}
