// SPDX-License-Identifier: Apache-2.0

import Beeline
import DirectHTTP
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import Names

/// The proxy's state, confined to one event loop, which also runs the listening socket and all connections. It
/// therefore needs no locks, and a tunnel's two sockets share a thread.
final class ProxyLoop {
    let loop: any EventLoop
    let client: BeelineClient
    let configuration: ProxyConfiguration
    let origins: OriginPool
    /// Nil if no hosts are configured.
    let gateway: GatewayLinks?
    private(set) var own: OwnEndpoints
    private(set) var counts = ProxyCounts()
    let endpoint: NIOLockedValueBox<Endpoint>
    private var listener: (any Channel)?
    /// The last call of ``listen(at:)``. Calls are serialized, because concurrent ones would leave a listener open.
    private var lastListening: EventLoopFuture<Void>
    private var clients: [ObjectIdentifier: Wire] = [:]
    private var tally = Tally<IPAddress>()
    private var budget: DescriptorBudget
    private var ticker: Scheduled<Void>?
    /// The readers whose pipelined requests wait for their turn, in order.
    private var waitingReaders: [RequestReader] = []
    private var isDraining = false
    private var drained: [EventLoopPromise<Void>] = []
    /// The tasks that end the draining. Each keeps the proxy and its client in memory until its deadline.
    private var drainDeadlines: [Scheduled<Void>] = []

    init(on loop: any EventLoop, client: BeelineClient, configuration: ProxyConfiguration, gateway: GatewayLinks?) {
        self.gateway = gateway
        self.loop = loop
        endpoint = NIOLockedValueBox(configuration.listen)
        lastListening = loop.makeSucceededVoidFuture()
        self.client = client
        self.configuration = configuration
        own = OwnEndpoints(listening: configuration.listen)
        budget = DescriptorBudget(connections: configuration.limits.connections)
        origins = OriginPool(limits: configuration.limits, engineEpoch: { client.engine.epoch })
    }

    // MARK: Listening

    /// Listens on an endpoint, after closing the previous listener.
    func listen(at endpoint: Endpoint) -> EventLoopFuture<Endpoint> {
        let me = NIOLoopBound(self, eventLoop: loop)
        let listening = lastListening.flatMap { me.value.stopListening() }
            .flatMap { me.value.bind(endpoint) }
            .flatMapThrowing { channel in try me.value.admitListener(channel) }
        lastListening = listening.map { _ in }.flatMapError { [loop] _ in loop.makeSucceededVoidFuture() }
        return listening
    }

    private func stopListening() -> EventLoopFuture<Void> {
        let closed: EventLoopFuture<Void> = listener?.close() ?? loop.makeSucceededVoidFuture()
        listener = nil
        return closed.flatMapError { [loop] _ in loop.makeSucceededVoidFuture() }
    }

    private func bind(_ endpoint: Endpoint) -> EventLoopFuture<any Channel> {
        guard !isDraining else { return loop.makeFailedFuture(ProxyError(.ended, "the proxy has ended")) }
        let me = NIOLoopBound(self, eventLoop: loop)
        let bootstrap = ServerBootstrap(group: loop)
            .serverChannelOption(.backlog, value: 4096)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .serverChannelOption(.maxMessagesPerRead, value: 16)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try me.value.accept(channel) }
            }
        do {
            return bootstrap.bind(to: try SocketAddress(endpoint))
        } catch {
            return loop.makeFailedFuture(error)
        }
    }

    /// Keeps a listener that was bound, and returns its endpoint. Closes it if the proxy has ended meanwhile.
    private func admitListener(_ channel: any Channel) throws -> Endpoint {
        guard let address = channel.localAddress, let endpoint = Endpoint(address) else {
            throw ChannelError.unknownLocalAddress
        }
        guard !isDraining else {
            channel.close(promise: nil)
            throw ProxyError(.ended, "the proxy has ended")
        }
        listener = channel
        self.endpoint.withLockedValue { $0 = endpoint }
        budget = DescriptorBudget(connections: configuration.limits.connections, extra: budget.extra)
        let interfaces = (try? System.enumerateDevices())?.compactMap { $0.address.flatMap(Endpoint.init)?.address }
        own = OwnEndpoints(listening: endpoint, interfaces: interfaces ?? [])
        return endpoint
    }

    private func accept(_ channel: any Channel) throws {
        let isTooMany = clients.count >= budget.clients
        if isTooMany, clients.count - budget.clients >= budget.refusals { throw Self.tooMany }
        guard let address = channel.remoteAddress.flatMap(Endpoint.init)?.address else {
            throw ChannelError.ioOnClosedChannel
        }
        let client = address.ofSubscriber
        guard tally.add(client, limit: configuration.limits.connectionsPerClient(at: address)) else {
            report(.refused(nil, Refusal(503, "\(client) has reached the limit of connections of one client")))
            throw Self.tooMany
        }
        let wire = Wire(now: loop.now, of: self, client: client)
        let reader = RequestReader(self, client: wire, refusal: isTooMany ? Self.tooMany : nil)
        wire.owner = reader
        do {
            // Set here, because the bootstrap would use a future for each option.
            try channel.syncOptions?.setOption(.allowRemoteHalfClosure, value: true)
            try Self.keepNoBuffers(channel)
            try channel.pipeline.syncOperations.addHandler(wire)
        } catch {
            tally.remove(client)
            throw error
        }
        clients[ObjectIdentifier(wire)] = wire
        counts.connections = clients.count
        makeRoom()
        startTicker()
    }

    private static let tooMany = Refusal(503, "the proxy has reached its limit of connections: try again later")

    // MARK: Descriptors

    /// Takes the descriptors for a dial. Returns how many of its endpoints it may try at once.
    func beginDial(to endpoints: Int) -> Int {
        let attempts = budget.beginDial(to: endpoints, clients: clients.count)
        makeRoom()
        return attempts
    }

    func endDial(attempts: Int) { budget.endDial(attempts: attempts) }

    /// Closes the idle connections to origins if clients and dials need their descriptors.
    private func makeRoom() { if origins.count > budget.idle(clients: clients.count) { origins.closeAll() } }

    // MARK: Origins

    /// Adds the proxy's handler to a channel to an origin.
    func wire(on channel: any Channel, halfCloses: Bool) throws -> Wire {
        guard channel.isActive else { throw ChannelError.ioOnClosedChannel }
        let wire = Wire(now: loop.now, halfCloses: halfCloses)
        try Self.keepNoBuffers(channel)
        try channel.pipeline.syncOperations.addHandler(wire)
        return wire
    }

    /// Applies the policy to the endpoints of a destination.
    func screen(for destination: Destination) -> EndpointScreen {
        { [policy = configuration.policy, resolver = client.resolver, own] endpoints, routing, resolution in
            var checked = endpoints
            var source = AccessPolicy.Source(resolution, by: resolver)
            if let proxy = routing.proxy {
                guard !endpoints.contains(where: own.contains) else {
                    throw Refusal(403, "the upstream proxy \(proxy) is this proxy: set another or none")
                }
                // The upstream proxy resolves names, so only addresses and `localhost` can be checked (RFC 6761 §6.3).
                guard let addresses = destination.host.literalAddresses else { return endpoints }
                checked = addresses.map { Endpoint($0, port: destination.port) }
                source = .literal
            }
            let permitted = try policy.permitted(
                checked,
                for: destination,
                source: source,
                own: own,
                behind: resolver.network.nat64
            )
            return routing.proxy == nil ? permitted : endpoints
        }
    }

    private static func keepNoBuffers(_ channel: any Channel) throws {
        try channel.syncOptions?.setOption(.recvAllocator, value: ReceiveBuffers())
        try channel.syncOptions?.setOption(.maxMessagesPerRead, value: 1)
    }

    /// Removes a closed client connection.
    func forget(_ wire: Wire) {
        guard clients.removeValue(forKey: ObjectIdentifier(wire)) != nil else { return }
        if let client = wire.countsFor { tally.remove(client) }
        origins.closeTied(to: wire)
        counts.connections = clients.count
        guard clients.isEmpty else { return }
        if isDraining { finishDraining() }
    }

    // MARK: Counting

    func report(_ event: ProxyEvent) {
        switch event {
        case .connected(.connect, _, _, _), .connected(.socks, _, _, _):
            counts.tunnels += 1
            counts.openTunnels += 1
        case .connected(.forward, _, _, _): break
        case .ended: counts.openTunnels -= 1
        case .refused: counts.refused += 1
        }
        configuration.onEvent?(event)
    }

    func forwarded() { counts.forwarded += 1 }

    // MARK: Time

    private func startTicker() {
        guard ticker == nil else { return }
        let tick = TimeAmount(configuration.limits.tick)
        ticker = loop.assumeIsolated().scheduleTask(in: tick) { [self] in
            ticker = nil
            check()
        }
    }

    private func check() {
        let now = loop.now
        for wire in clients.values { wire.owner?.check(wire, now: now) }
        origins.check(now: now)
        // An idle proxy must not wake the processor.
        if !clients.isEmpty || !origins.isEmpty { startTicker() }
    }

    /// Lets a reader go on in a later turn of the event loop. Between two readers, the sockets have their turn.
    func giveTurn(to reader: RequestReader) {
        waitingReaders.append(reader)
        if waitingReaders.count == 1 { planTurn() }
    }

    private func planTurn() {
        // A task that is due when another one ends would run before the sockets.
        loop.assumeIsolated().scheduleTask(in: .milliseconds(1)) { [self] in
            waitingReaders[0].takeTurn()
            waitingReaders.removeFirst()
            if !waitingReaders.isEmpty { planTurn() }
        }
    }

    // MARK: Draining

    /// Accepts no more requests, and ends with the last connection or at `deadline`.
    func drain(until deadline: NIODeadline) -> EventLoopFuture<Void> {
        let promise = loop.makePromise(of: Void.self)
        drained.append(promise)
        if !isDraining {
            isDraining = true
            listener?.close(promise: nil)
            listener = nil
            origins.closeAll()
            for wire in clients.values { (wire.owner as? RequestReader)?.drain() }
        }
        if clients.isEmpty {
            finishDraining()
        } else {
            let end = loop.assumeIsolated().scheduleTask(deadline: deadline) { [self] in
                // Otherwise clients could mistake an interrupted transfer for a complete one.
                for wire in clients.values { wire.reset() }
            }
            drainDeadlines.append(end)
        }
        return promise.futureResult
    }

    /// Whether connections of clients can be kept for another request.
    var keepsConnections: Bool { !isDraining }

    /// Whether one more connection to an origin can be kept.
    var keepsOrigins: Bool { keepsConnections && origins.count < budget.idle(clients: clients.count) }

    private func finishDraining() {
        ticker?.cancel()
        ticker = nil
        for deadline in drainDeadlines { deadline.cancel() }
        drainDeadlines = []
        origins.closeAll()
        let promises = drained
        drained = []
        for promise in promises { promise.succeed() }
    }
}
