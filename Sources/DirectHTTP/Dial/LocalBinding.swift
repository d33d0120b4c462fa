// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOPosix
import Names

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// Opens the socket of one attempt with the local address and interface of the settings.
struct LocalBinding {
    let settings: DialSettings

    /// Binds the socket as the settings say, and connects it. Called on the loop. It looks up no names, and the race limits its
    /// time.
    ///
    /// - Parameter made: called on the loop with the channel before it connects, so that closing the channel ends the attempt.
    func connect(
        to endpoint: Endpoint,
        route: Route,
        on loop: any EventLoop,
        made: @escaping (any Channel) -> Void
    ) -> EventLoopFuture<any Channel> {
        let made = NIOLoopBound(made, eventLoop: loop)
        do {
            // NIO sets TCP_NODELAY and disallows half-closure by default.
            var bootstrap = ClientBootstrap(group: loop).connectTimeout(.hours(1))
            if case .unixSocket(let path) = route {
                bootstrap = bootstrap.channelInitializer { channel in
                    made.value(channel)
                    return channel.eventLoop.makeSucceededVoidFuture()
                }
                return bootstrap.connect(unixDomainSocketPath: path)
            }
            let family = endpoint.address.family
            if !settings.localAddresses.isEmpty {
                guard let local = settings.localAddresses.first(where: { $0.family == family }) else {
                    throw IOError(errnoCode: EADDRNOTAVAIL, reason: "none of the local addresses is of its family")
                }
                bootstrap = bootstrap.bind(to: try SocketAddress(Endpoint(local, port: 0)))
            }
            bootstrap = bootstrap.channelInitializer { [interface = settings.interface] channel in
                made.value(channel)
                guard let interface else { return channel.eventLoop.makeSucceededVoidFuture() }
                return Self.bind(channel, toInterface: interface, family: family)
            }
            return bootstrap.connect(to: try SocketAddress(endpoint))
        } catch {
            return loop.makeFailedFuture(error)
        }
    }

    /// Why the connection failed, in one line for an error.
    func explain(_ error: any Error, to endpoint: Endpoint, route: Route) -> String {
        guard let error = error as? IOError else {
            if case ChannelError.connectTimeout = error { return "did not answer" }
            return "cannot be reached: \(error)"
        }
        let words = String(cString: strerror(error.errnoCode))
        if case .unixSocket(let path) = route { return "cannot be reached by the socket \(path): \(words)" }
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
    /// RFC 4007 §6: link-local addresses are valid on one link only, and a machine may have several links.
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
