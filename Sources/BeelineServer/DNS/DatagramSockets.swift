// SPDX-License-Identifier: Apache-2.0

import DirectHTTP
import LibC
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import Names

/// The UDP sockets of a ``DNSServer``.
///
/// NIO closes a socket after most failed sends, for example to a forged source. Such sockets are bound again at once.
/// Every two seconds, a check binds other missing sockets and follows the addresses of the machine.
final class DatagramSockets: Sendable {
    private struct State {
        /// Nil before ``DatagramSockets/start(on:)`` and after ``DatagramSockets/close()``.
        var listen: SocketAddress?
        var open: [SocketAddress: [ObjectIdentifier: any Channel]] = [:]
        /// The number of sockets being bound by a check.
        var binding = 0
        /// Whether a socket was closed while others were being bound.
        var needsCheck = false
        /// The number of checks since the last periodic one.
        var extraChecks = 0
        /// The number of consecutive failures to bind a socket of an address.
        var failures: [SocketAddress: Int] = [:]
        var checks: RepeatedTask?
        /// Whether it was reported that some addresses have no sockets.
        var isPartReported = false
    }

    private let service: DNSService
    /// The addresses of the machine; nil if they cannot be listed now.
    private let interfaces: @Sendable () -> [SocketAddress]?
    private let loop: any EventLoop = MultiThreadedEventLoopGroup.singleton.next()
    private let state = NIOLockedValueBox(State())

    /// The maximum number of sockets of an address. The system distributes the clients among them.
    private static let maxSockets = 4
    /// The size of the receive buffer in octets, if the system allows it. Linux doubles the number, and a short
    /// datagram takes about 800 octets. The default holds about 300 datagrams, which a flood sends in 3 ms. A buffer
    /// that a slow machine cannot empty within a fraction of a second would delay all answers.
    private static let receiveBuffer = SocketOptionValue(1 << 18)
    /// The interval between checks for missing sockets and new addresses.
    private static let checkInterval = TimeAmount.seconds(2)
    /// The maximum number of checks between two periodic ones, so that a failing socket keeps no processor busy.
    private static let maxExtraChecks = 200
    /// The number of consecutive checks without a socket at which an error is reported.
    private static let reportedFailure = 2

    /// The number of sockets of an address. One if the system does not distribute the clients of a port among sockets.
    private static var count: Int {
        #if os(Linux)
        min(maxSockets, max(1, System.coreCount))
        #else
        1
        #endif
    }

    init(
        _ service: DNSService,
        interfaces: @escaping @Sendable () -> [SocketAddress]? = {
            try? System.enumerateDevices().compactMap(\.address)
        }
    ) {
        self.service = service
        self.interfaces = interfaces
    }

    var channels: [any Channel] { state.withLockedValue { $0.open.values.flatMap(\.values) } }

    /// Binds the sockets and starts to check them.
    ///
    /// - Throws: An error of the system if an address is in use, or none can be bound.
    func start(on listen: SocketAddress) async throws {
        state.withLockedValue { $0.listen = listen }
        var failure: (any Error)?
        for address in addressesToServe(listen) ?? [listen] {
            for _ in 0..<Self.count {
                do {
                    try await bind(address).get()
                } catch {
                    // The machine may have lost this address, or it is not ready yet: IPv6 first looks for duplicates.
                    if address == listen || (error as? IOError)?.errnoCode == EADDRINUSE { throw error }
                    failure = error
                }
            }
        }
        if let failure, channels.isEmpty { throw failure }
        let checks = loop.scheduleRepeatedTask(initialDelay: Self.checkInterval, delay: Self.checkInterval) {
            [self] _ in
            state.withLockedValue { $0.extraChecks = 0 }
            check()
        }
        let isClosed = state.withLockedValue { state in
            state.checks = checks
            return state.listen == nil
        }
        if isClosed { checks.cancel() }
    }

    /// Closes all sockets.
    func close() async {
        let (channels, checks) = state.withLockedValue { state in
            defer { state = State() }
            return (state.open.values.flatMap(\.values), state.checks)
        }
        checks?.cancel()
        for channel in channels { try? await channel.close().get() }
    }

    /// The addresses to have sockets for; nil if the machine's addresses cannot be listed now. Reports once that there are
    /// too many.
    private func addressesToServe(_ listen: SocketAddress) -> [SocketAddress]? {
        guard Endpoint(listen)?.address.isUnspecified ?? false else { return [listen] }
        guard let interfaces = interfaces() else { return nil }
        let all = DatagramPlan.addresses(listening: listen, interfaces: interfaces)
        let served = Array(all.prefix(DatagramPlan.maxAddresses))
        let isReported = state.withLockedValue { state in
            defer { state.isPartReported = served.count < all.count }
            return state.isPartReported || served.count == all.count
        }
        if !isReported {
            let message = "UDP listens on \(served.count) of \(all.count) addresses only: name those that it needs"
            service.configuration.onReloadFailure?(ServerError(.cannotListen, message))
        }
        return served
    }

    // MARK: Binding

    private func bind(_ address: SocketAddress) -> EventLoopFuture<Void> {
        let bootstrap = DatagramBootstrap(group: MultiThreadedEventLoopGroup.singleton.next())
            .channelOption(.datagramVectorReadMessageCount, value: LookupPace.batch)
            .channelOption(.maxMessagesPerRead, value: UInt(LookupPace.callsPerRead))
            .channelOption(.socketOption(.so_rcvbuf), value: Self.receiveBuffer)
            .channelOption(
                .recvAllocator,
                value: FixedSizeRecvByteBufferAllocator(capacity: LookupPace.batch * DatagramHandler.maxQuery)
            )
            .channelInitializer { [service] channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(DatagramHandler(service))
                }
            }
        return Self.sharingPort(bootstrap).bind(to: address).flatMapThrowing { [self] channel in
            let isKept = state.withLockedValue { state in
                guard state.listen != nil else { return false }
                state.open[address, default: [:]][ObjectIdentifier(channel)] = channel
                return true
            }
            guard isKept else {
                channel.close(promise: nil)
                throw ServerError(.cannotListen, "the server was stopped")
            }
            channel.closeFuture.whenComplete { [self] _ in closed(channel, address) }
        }
    }

    /// Lets the sockets of one address share their port.
    private static func sharingPort(_ bootstrap: DatagramBootstrap) -> DatagramBootstrap {
        #if os(Linux)
        guard count > 1 else { return bootstrap }
        return bootstrap.channelOption(.socketOption(.init(rawValue: SO_REUSEPORT)), value: 1)
        #else
        return bootstrap
        #endif
    }

    private func closed(_ channel: any Channel, _ address: SocketAddress) {
        let mayCheck = state.withLockedValue { state in
            guard state.open[address]?.removeValue(forKey: ObjectIdentifier(channel)) != nil else { return false }
            if state.open[address]?.isEmpty ?? false { state.open[address] = nil }
            state.extraChecks += 1
            return state.extraChecks <= Self.maxExtraChecks
        }
        if mayCheck { loop.execute { [self] in check() } }
    }

    /// Binds missing sockets, and closes sockets for addresses that the machine has lost.
    private func check() {
        guard !service.isDraining, let listen = state.withLockedValue({ $0.listen }) else { return }
        // The next check tries again.
        guard let addresses = addressesToServe(listen) else { return }
        let (missing, unneeded) = state.withLockedValue { state -> ([SocketAddress], [any Channel]) in
            state.needsCheck = state.binding > 0
            guard state.listen != nil, state.binding == 0 else { return ([], []) }
            let plan = DatagramPlan(addresses, open: state.open.mapValues(\.count), count: Self.count)
            state.failures = state.failures.filter { addresses.contains($0.key) }
            state.binding = plan.missing.count
            let unneeded = plan.unneeded.flatMap { address in
                (state.open.removeValue(forKey: address) ?? [:]).values
            }
            return (plan.missing, unneeded)
        }
        for channel in unneeded { channel.close(promise: nil) }
        for address in missing { bind(address).whenComplete { [self] in bound(address, $0) } }
    }

    private func bound(_ address: SocketAddress, _ result: Result<Void, any Error>) {
        let (isReported, mustCheck) = state.withLockedValue { state in
            // `close` may have set the number to 0.
            state.binding = max(0, state.binding - 1)
            let mustCheck = state.needsCheck && state.binding == 0
            // The address is served while it has a socket.
            guard case .failure = result, state.listen != nil, state.open[address]?.isEmpty ?? true else {
                state.failures[address] = nil
                return (false, mustCheck)
            }
            state.failures[address, default: 0] += 1
            return (state.failures[address] == Self.reportedFailure * Self.count, mustCheck)
        }
        if mustCheck { loop.execute { [self] in check() } }
        guard isReported, case .failure(let error) = result else { return }
        let reason = ListenFailure.explain(error, at: address.ipAddress ?? "?")
        service.configuration.onReloadFailure?(ServerError(.cannotListen, "UDP: \(reason)"))
    }
}
