// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineTesting
import Foundation
import NIOConcurrencyHelpers
import Testing

/// A run of `beeline dns`.
struct DNSProcess {
    var process: Int32
    var endpoint: Endpoint
    /// The endpoint of `/metrics`.
    var metrics: Endpoint?

    /// Starts the command on a free port, runs `body`, and ends it by SIGTERM.
    static func run(
        _ arguments: [String],
        in folder: Folder,
        body: @escaping @Sendable (DNSProcess) async throws -> Void
    ) async throws -> CommandRun {
        let line = ["dns", "--listen", "127.0.0.1:0"] + arguments
        return try await CommandRun.run(CommandRun.beeline, line, in: folder) { process in
            defer { kill(process, SIGTERM) }
            let text = try await folder.waitForText("the first line", ending: ".out") {
                $0.hasPrefix("listening on dns://") && $0.hasSuffix("\n")
            }
            let words = text.split { $0.isWhitespace }
            let endpoints = try words.filter { $0.contains("://") }.map { word in
                try Endpoint(parsing: String(word.drop { $0 != "/" }.dropFirst(2)), defaultPort: nil)
            }
            let metrics = words.contains { $0.hasPrefix("http://") } ? endpoints.last : nil
            try await body(DNSProcess(process: process, endpoint: endpoints[0], metrics: metrics))
        }
    }

    /// The output of `beeline resolve` with this server as upstream.
    func resolve(_ name: String, in folder: Folder) async throws -> String {
        let run = try await CommandRun.run(
            CommandRun.beeline,
            ["resolve", "-4", "--dns", "dns:\(endpoint)", name],
            in: folder
        )
        return run.text + run.errors
    }
}

/// A DNS server that gives names one address, and counts its queries for A.
final class OneAddressDNS: Sendable {
    let address: String
    let port: UInt16
    private let server: DatagramServer
    private let asked: NIOLockedValueBox<Int>

    /// - Parameter isKnown: Whether a query is answered; it has the name in lower case. Others get no reply.
    init(
        _ address: String,
        isKnown: @escaping @Sendable (_ query: String) -> Bool = { _ in true }
    ) async throws {
        let asked = NIOLockedValueBox(0)
        let octets = IPAddress(address)?.octets ?? []
        // TCP picks the port. UDP has its own ports, so the same number is free there.
        let free = try await RawServer.start { connection in await connection.close() }
        server = try await DatagramServer.start(at: free.endpoint) { query in
            guard isKnown(String(decoding: query, as: UTF8.self).lowercased()),
                let reply = Self.reply(to: query, octets)
            else { return [] }
            if reply.hasAddress { asked.withLockedValue { $0 += 1 } }
            return [DatagramServer.Reply(reply.octets)]
        }
        port = free.endpoint.port
        await free.stop()
        self.address = address
        self.asked = asked
    }

    var questions: Int { asked.withLockedValue { $0 } }

    func stop() async { await server.stop() }

    /// A reply with the address for A, and without records for other types.
    private static func reply(to query: [UInt8], _ address: [UInt8]) -> (octets: [UInt8], hasAddress: Bool)? {
        var end = 12
        while end < query.count, query[end] != 0 { end += 1 + Int(query[end]) }
        end += 5
        guard end <= query.count else { return nil }
        let hasAddress = query[end - 4] == 0 && query[end - 3] == 1
        var octets = Array(query[..<2]) + [0x81, 0x80, 0, 1, 0, hasAddress ? 1 : 0, 0, 0, 0, 0] + query[12..<end]
        if hasAddress { octets += [0xc0, 12, 0, 1, 0, 1, 0, 0, 1, 44, 0, 4] + address }
        return (octets, hasAddress)
    }
}
