// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// Options for the sockets: the endpoints they connect to, and their local addresses.
struct SocketOptions: FetchOptionGroup {
    var connectTo: [String] = []
    var unixSocket: String?
    var interface: String?
    var localPort: String?
    var keepsAlive = true
    var keepAliveTime = 60
    var keepAliveCount = 9
    var sendsAtOnce = true
    var staggerMilliseconds: Int?

    static let options: [FetchOption] = [
        .text("connect-to", value: "places", help: "HOST1:PORT1:HOST2:PORT2: connect there for URLs of HOST1:PORT1") {
            $0.socket.connectTo.append($1)
        },
        .text("unix-socket", value: "path", help: "Connect to this Unix domain socket") { $0.socket.unixSocket = $1 }
            .path(),
        .text("interface", value: "name", help: "Connect from this interface, address or host name") {
            $0.socket.interface = $1
        },
        .text("local-port", value: "range", help: "Connect from this port, or one of FROM-TO") {
            $0.socket.localPort = $1
        },
        .flag("keepalive", help: "Let TCP probe silent connections (default)") { $0.socket.keepsAlive = $1 },
        .number("keepalive-time", value: "sec", help: "Time between probes in seconds (default: 60)", in: 1...32_767) {
            $0.socket.keepAliveTime = $1
        },
        .number("keepalive-cnt", help: "Unanswered probes that end a connection (default: 9)", in: 1...127) {
            $0.socket.keepAliveCount = $1
        },
        .flag("tcp-nodelay", help: "Send small segments at once (default)") { $0.socket.sendsAtOnce = $1 },
        .number(
            "happy-eyeballs-timeout-ms",
            value: "ms",
            help: "Time before the next address is tried in parallel (default: 250)",
            in: 1...60_000
        ) { $0.socket.staggerMilliseconds = $1 },
    ]
}
