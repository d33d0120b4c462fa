// SPDX-License-Identifier: Apache-2.0

import LibC
import NIOCore
import NIOPosix
import Names

/// Opens the socket of one attempt with the local address and interface of the settings.
struct LocalBinding {
    let settings: DialSettings

    /// Binds the socket according to the settings, and connects it, on the loop. The race limits its time.
    ///
    /// - Parameter made: called on the loop with the channel before it connects, so that closing the channel ends the attempt.
    ///   Called again for each further local port.
    func connect(
        to endpoint: Endpoint,
        route: Route,
        on loop: any EventLoop,
        made: @escaping (any Channel) -> Void
    ) -> EventLoopFuture<any Channel> {
        let made = NIOLoopBound(made, eventLoop: loop)
        if case .unixSocket(let path) = route {
            let bootstrap = ClientBootstrap(group: loop).connectTimeout(.hours(1)).channelInitializer { channel in
                made.value(channel)
                return channel.eventLoop.makeSucceededVoidFuture()
            }
            return bootstrap.connect(unixDomainSocketPath: path)
        }
        return connect(to: endpoint, from: settings.localPorts?.lowerBound ?? 0, on: loop, made: made)
    }

    /// Connects from the first free local port. Port 0: the system chooses.
    private func connect(
        to endpoint: Endpoint,
        from port: UInt16,
        on loop: any EventLoop,
        made: NIOLoopBound<(any Channel) -> Void>
    ) -> EventLoopFuture<any Channel> {
        do {
            let family = endpoint.address.family
            let local = try localAddress(for: family)
            let last = settings.localPorts?.upperBound ?? port
            return try bootstrap(on: loop, local: local, port: port, family: family, made: made)
                .connect(to: try SocketAddress(endpoint))
                .flatMapError { error in
                    // The port is taken, or its last connection to this endpoint has not ended yet.
                    guard port < last, let code = (error as? IOError)?.errnoCode,
                        code == EADDRINUSE || code == EADDRNOTAVAIL
                    else { return loop.makeFailedFuture(error) }
                    return self.connect(to: endpoint, from: port + 1, on: loop, made: made)
                }
        } catch {
            return loop.makeFailedFuture(error)
        }
    }

    /// The local address of a family; nil if the system chooses it.
    private func localAddress(for family: IPAddress.Family) throws -> IPAddress? {
        guard !settings.localAddresses.isEmpty else { return nil }
        guard let local = settings.localAddresses.first(where: { $0.family == family }) else {
            throw IOError(errnoCode: EADDRNOTAVAIL, reason: "none of the local addresses is of its family")
        }
        return local
    }

    private func bootstrap(
        on loop: any EventLoop,
        local: IPAddress?,
        port: UInt16,
        family: IPAddress.Family,
        made: NIOLoopBound<(any Channel) -> Void>
    ) throws -> ClientBootstrap {
        // NIO sets TCP_NODELAY and disallows half-closure by default.
        var bootstrap = ClientBootstrap(group: loop).connectTimeout(.hours(1))
        if local != nil || port > 0 {
            let any = family == .v4 ? IPAddress("0.0.0.0") : IPAddress("::")
            guard let address = local ?? any else { throw IOError(errnoCode: EADDRNOTAVAIL, reason: "bind") }
            bootstrap = bootstrap.bind(to: try SocketAddress(Endpoint(address, port: port)))
        }
        if !settings.sendsAtOnce { bootstrap = bootstrap.channelOption(.tcpOption(.tcp_nodelay), value: 0) }
        if let keepAlive = settings.keepAlive {
            bootstrap = Self.keepAlive(keepAlive, count: settings.keepAliveCount, bootstrap)
        }
        return bootstrap.channelInitializer { [interface = settings.interface] channel in
            made.value(channel)
            guard let interface else { return channel.eventLoop.makeSucceededVoidFuture() }
            return Self.bind(channel, toInterface: interface, family: family)
        }
    }

    /// Lets TCP probe a silent peer. Linux allows 32767 s and 127 probes at most.
    private static func keepAlive(
        _ time: Duration,
        count: Int,
        _ bootstrap: ClientBootstrap
    ) -> ClientBootstrap {
        let seconds = Int(min(max(time.components.seconds, 1), 32_767))
        #if canImport(Darwin)
        let idle = TCP_KEEPALIVE
        #else
        let idle = TCP_KEEPIDLE
        #endif
        return
            bootstrap
            .channelOption(.socketOption(.so_keepalive), value: 1)
            .channelOption(.tcpOption(.init(rawValue: idle)), value: seconds)
            .channelOption(.tcpOption(.init(rawValue: TCP_KEEPINTVL)), value: seconds)
            .channelOption(.tcpOption(.init(rawValue: TCP_KEEPCNT)), value: min(max(count, 1), 127))
    }

    /// The reason why the connection failed, as one line for an error.
    func explain(_ error: any Error, to endpoint: Endpoint, route: Route) -> String {
        guard let error = error as? IOError else {
            if case ChannelError.connectTimeout = error { return "did not answer" }
            if case SocketAddressError.unixDomainSocketPathTooLong = error { return "has a path that is too long" }
            return "cannot be reached: \(error)"
        }
        let words = String(cString: strerror(error.errnoCode))
        if route.socketPath != nil { return "cannot be reached: \(words)" }
        if let ports = settings.localPorts, [EADDRINUSE, EACCES].contains(error.errnoCode) {
            let text = ports.count == 1 ? "port \(ports.lowerBound)" : "ports \(ports.lowerBound)-\(ports.upperBound)"
            return "cannot be reached from the local \(text): \(words)"
        }
        switch error.errnoCode {
        case ECONNREFUSED:
            return "refused the connection"
        case EADDRNOTAVAIL where !settings.localAddresses.isEmpty:
            let addresses = settings.localAddresses.map { "\($0)" }.joined(separator: " and ")
            return
                "cannot be reached from the local addresses \(addresses): one of them must be this machine's and of its family"
        case ENODEV:
            return "cannot be reached: this machine has no interface \(settings.interface ?? "of that name")"
        case _ where endpoint.needsScope && settings.interface == nil:
            return "is a link-local address, which needs its interface, in a URL [\(endpoint.address)%25eth0]: \(words)"
        default:
            return "cannot be reached: \(words)"
        }
    }

    /// Binds the socket to one network interface.
    private static func bind(
        _ channel: any Channel,
        toInterface name: String,
        family: IPAddress.Family
    ) -> EventLoopFuture<Void> {
        guard let options = channel as? any SocketOptionProvider else {
            return channel.eventLoop.makeSucceededVoidFuture()
        }
        let reason = IOError(errnoCode: ENODEV, reason: "bind to the interface \"\(name)\"")
        #if canImport(Darwin)
        let index = if_nametoindex(name)
        guard index != 0 else { return channel.eventLoop.makeFailedFuture(reason) }
        return options.unsafeSetSocketOption(
            level: family == .v4 ? .ip : .ipv6,
            name: NIOBSDSocket.Option(rawValue: family == .v4 ? IP_BOUND_IF : IPV6_BOUND_IF),
            value: index
        )
        #else
        // IFNAMSIZ is 16, with the terminating zero.
        guard let name = InterfaceName(name) else { return channel.eventLoop.makeFailedFuture(reason) }
        return options.unsafeSetSocketOption(
            level: .socket,
            name: NIOBSDSocket.Option(rawValue: SO_BINDTODEVICE),
            value: name
        )
        #endif
    }
}

extension Endpoint {
    /// Whether the address needs a scope: link-local addresses are valid on one link only (RFC 4007 §6).
    fileprivate var needsScope: Bool { address.family == .v6 && address.isLinkLocal && scope == 0 }
}

/// An interface name in the kernel's form: 16 bytes, padded with zeros.
struct InterfaceName: Sendable {
    private let low: UInt64
    private let high: UInt64

    init?(_ name: String) {
        var bytes = Array(name.utf8)
        guard (1...15).contains(bytes.count), !bytes.contains(0) else { return nil }
        bytes += [UInt8](repeating: 0, count: 16 - bytes.count)
        low = bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: 0, as: UInt64.self) }
        high = bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self) }
    }
}
