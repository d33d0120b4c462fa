// SPDX-License-Identifier: Apache-2.0

import Beeline
import LibC
import Names

extension ClientConfiguration {
    /// Applies the options for sockets.
    mutating func apply(_ options: SocketOptions) throws(CommandFailure) {
        for text in options.connectTo where !text.isEmpty { connectTo.append(try ConnectRule(option: text)) }
        if let path = options.unixSocket {
            guard (1...103).contains(path.utf8.count) else {
                throw CommandFailure(.connectFailed, "--unix-socket: a path has 1 to 103 bytes")
            }
            unixSocket = path
        }
        if let text = options.interface { try bind(to: text) }
        if let text = options.localPort { engine.dial.localPorts = try Self.ports(text) }
        engine.dial.keepAlive = options.keepsAlive ? .seconds(options.keepAliveTime) : nil
        engine.dial.keepAliveCount = options.keepAliveCount
        engine.dial.sendsAtOnce = options.sendsAtOnce
        if let time = options.staggerMilliseconds { engine.dial.stagger = .milliseconds(time) }
    }

    /// Parses `--interface`: `if!NAME`, `host!HOST`, `ifhost!NAME!HOST`, or the name of either.
    private mutating func bind(to text: String) throws(CommandFailure) {
        let parts = text.split(separator: "!", omittingEmptySubsequences: false).map(String.init)
        switch parts.first {
        case "if" where parts.count == 2: try setInterface(parts[1])
        case "host" where parts.count == 2: try setLocalHost(parts[1])
        case "ifhost" where parts.count == 3:
            try setInterface(parts[1])
            try setLocalHost(parts[2])
        default:
            if if_nametoindex(text) != 0 { try setInterface(text) } else { try setLocalHost(text) }
        }
    }

    private mutating func setInterface(_ name: String) throws(CommandFailure) {
        guard if_nametoindex(name) != 0 else {
            throw CommandFailure(.interfaceFailed, "--interface: this machine has no interface \"\(name)\"")
        }
        engine.dial.interface = name
    }

    private mutating func setLocalHost(_ name: String) throws(CommandFailure) {
        if let address = IPAddress(name) {
            engine.dial.localAddresses = [address]
            return
        }
        let addresses = (try? SystemUpstream.getAddresses(of: name, families: .both).get()) ?? []
        let first = [IPAddress.Family.v4, .v6].compactMap { family in addresses.first { $0.family == family } }
        guard !first.isEmpty else {
            throw CommandFailure(
                .interfaceFailed,
                "--interface: \"\(name)\" is neither an interface of this machine nor a host with an address"
            )
        }
        engine.dial.localAddresses = first
        // Endpoints of another family cannot be reached from this address.
        if first.count == 1, resolver.families == .both { resolver.families = Families(first[0].family) }
    }

    /// Parses `FROM[-TO]`.
    static func ports(_ text: String) throws(CommandFailure) -> ClosedRange<UInt16> {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false).map { UInt16($0.trimmingBlanks) }
        guard (1...2).contains(parts.count), let from = parts[0], let to = parts[parts.count - 1], from > 0, from <= to
        else {
            throw CommandFailure(.usage, "--local-port \(text): write a port, or FROM-TO")
        }
        return from...to
    }
}

extension ConnectRule {
    /// Parses `HOST1:PORT1:HOST2:PORT2`, with IPv6 addresses in brackets. An empty first host or port stands for any.
    /// An empty second one stands for the origin's own.
    init(option text: String) throws(CommandFailure) {
        let malformed = CommandFailure(.malformedOption, "--connect-to \"\(text)\": write HOST1:PORT1:HOST2:PORT2")
        var rest = text[...]
        func host() throws(CommandFailure) -> Host? {
            guard let end = rest.endOfHost else { throw malformed }
            let part = rest[..<end]
            rest = rest[end...]
            guard rest.popFirst() == ":" else { throw malformed }
            if part.isEmpty { return nil }
            guard let host = try? Host(part) else { throw malformed }
            return host
        }
        func port() throws(CommandFailure) -> UInt16? {
            let part = rest.prefix { $0 != ":" }
            rest = rest[part.endIndex...].dropFirst()
            if part.isEmpty { return nil }
            guard let port = UInt16(part), port > 0 else { throw malformed }
            return port
        }
        self.init(host: try host(), port: try port(), targetHost: try host(), targetPort: try port())
        guard rest.isEmpty else { throw malformed }
    }
}
