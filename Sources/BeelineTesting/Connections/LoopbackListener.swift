// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import NIOSSL
import NIOTLS
import Names

/// Listens on loopback and runs one task for each connection. All servers of this module use it.
package final class LoopbackListener: Sendable {
    struct Settings: Sendable {
        /// The addresses to listen on, at least one, in 127.0.0.0/8 or ::1.
        var addresses: [String] = ["127.0.0.1"]
        /// The port for all addresses. 0 chooses a port that is free on all of them.
        var port: UInt16 = 0
        var tls: ServerTLS?
        /// Whether the client's FIN closes only its own direction.
        var allowsHalfClosure = false
        /// Splits a connection that negotiated `h2` into streams; nil: the connection is served as bytes.
        var multiplex: (@Sendable (any Channel, ReceivedRequest.Connection, Works) throws -> Void)?
    }

    /// The work for one connection or stream, and its channel. The work is cancelled when the channel closes.
    struct Work: Sendable {
        let channel: any Channel
        let run: @Sendable () async throws -> Void
    }

    typealias Works = AsyncStream<Work>.Continuation

    let endpoints: [Endpoint]
    let tally: Watched<ConnectionTally>
    private let servers: [any Channel]
    private let registry: ChannelRegistry
    private let works: Works
    /// Runs the work of all connections until `stop()`.
    private let runner: Task<Void, Never>

    static func start(
        _ settings: Settings,
        serve: @escaping @Sendable (RawConnection) async throws -> Void
    ) async throws -> LoopbackListener {
        let contexts = try settings.tls?.contexts()
        let (stream, works) = AsyncStream<Work>.makeStream()
        let acceptor = Acceptor(settings: settings, contexts: contexts, works: works, serve: serve)
        let servers = try await bind(settings, acceptor)
        let runner = Task {
            if #available(macOS 14, iOS 17, tvOS 17, watchOS 10, visionOS 1, *) {
                await withDiscardingTaskGroup { group in
                    for await work in stream { group.addTask { await work.runWhileOpen() } }
                    group.cancelAll()
                }
            } else {
                // This group keeps a finished task until the group ends.
                await withTaskGroup(of: Void.self) { group in
                    for await work in stream { group.addTask { await work.runWhileOpen() } }
                    group.cancelAll()
                }
            }
        }
        return LoopbackListener(servers: servers, acceptor: acceptor, runner: runner)
    }

    private init(servers: [any Channel], acceptor: Acceptor, runner: Task<Void, Never>) {
        self.servers = servers
        self.runner = runner
        (tally, registry, works) = (acceptor.tally, acceptor.registry, acceptor.works)
        endpoints = servers.compactMap { Endpoint($0.localAddress) }
    }

    /// Stops listening, closes every connection, cancels its work and returns when all work has ended.
    func stop() async {
        for server in servers { try? await server.close().get() }
        await registry.cutAll()
        works.finish()
        runner.cancel()
        await runner.value
    }

    /// Binds all addresses to the same port.
    private static func bind(_ settings: Settings, _ acceptor: Acceptor) async throws -> [any Channel] {
        let wanted = try settings.addresses.map { try Endpoint(loopback: $0, port: settings.port) }
        guard !wanted.isEmpty else { throw TestingError(.badAddress, "no address to listen on") }
        var last: any Error = TestingError(.noPort, "no port")
        // A port that is free on the first address may be in use on the second.
        for _ in 0..<(settings.port == 0 ? 16 : 1) {
            var channels: [any Channel] = []
            do {
                var port = Int(settings.port)
                for endpoint in wanted {
                    let channel = try await acceptor.bootstrap.bind(host: "\(endpoint.address)", port: port).get()
                    channels.append(channel)
                    port = channel.localAddress?.port ?? port
                }
                // Some systems keep the sockets of an earlier server of this port. They would be mistaken for a leak.
                let bound = channels.compactMap { Endpoint($0.localAddress) }
                guard settings.port != 0 || OpenDescriptors.sockets(connectedTo: bound) == 0 else {
                    throw TestingError(.noPort, "port \(port) has connections of an earlier server")
                }
                return channels
            } catch {
                last = error
                for channel in channels { try? await channel.close().get() }
            }
        }
        throw TestingError(.noPort, "\(settings.addresses.joined(separator: ", ")) port \(settings.port): \(last)")
    }
}

extension LoopbackListener.Work {
    /// Runs the work, cancels it when the channel closes, and closes the channel when the work ends.
    func runWhileOpen() async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { [channel] in
                try? await channel.closeFuture.get()
            }
            group.addTask { [channel, run] in
                // An error ends only its own connection; the client sees a close.
                try? await run()
                try? await channel.close().get()
            }
            await group.next()
            group.cancelAll()
        }
    }
}

extension Endpoint {
    /// Creates an endpoint on a loopback address.
    init(loopback text: String, port: UInt16) throws {
        guard let address = IPAddress(text), address.isLoopback, !address.isV4Mapped else {
            throw TestingError(.badAddress, "\"\(text)\": doubles listen on 127.0.0.0/8 and ::1 only")
        }
        self.init(address, port: port)
    }
}
