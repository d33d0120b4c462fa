// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineTesting
import CookieJar
import NIOCore

/// The steps of the demo. Each step checks its result and prints what it observed.
struct DemoStory {
    /// The reason why a step failed.
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    struct Step: Sendable {
        /// The expected result.
        let title: String
        /// Runs the step. Returns the observed result or throws ``Failure``.
        let run: @Sendable (DemoWorld) async throws -> String
    }

    static let steps: [Step] = [
        Step(title: "The system's answer leads to an impostor; its certificate is refused", run: poison),
        Step(title: "HTTPDNS finds the true site; Host, SNI and certificate are those of the name", run: direct),
        Step(title: "Another name on the same address has its own certificate and connection", run: neighbour),
        Step(title: "A login by POST keeps its body, and its cookie is stored for the domain", run: login),
        Step(title: "The site moves to another address: still logged in", run: move),
        Step(title: "The other name on that address does not get the shop's cookies", run: isolation),
        Step(title: "A dead first address delays a request by less than half a second", run: deadAddress),
        Step(title: "Switched off, HTTPDNS is not used; switched on, it is used again", run: theSwitch),
    ]

    private static func poison(_ world: DemoWorld) async throws -> String {
        world.client.isHTTPDNSEnabled = false
        defer { world.client.isHTTPDNSEnabled = true }
        let error = try await refused(world)
        try expect(world.impostor.requests.isEmpty, "a request reached the impostor")
        return "\(error.attempts.map(\.description).joined(separator: ", "))"
    }

    private static func direct(_ world: DemoWorld) async throws -> String {
        let response = try await world.client.get(world.url(DemoWorld.shop))
        let seen = try await text(response)
        try expect(seen == "\(DemoWorld.shop):\(world.sites.port) \(DemoWorld.shop)", "the site saw \(seen)")
        try expect(response.endpoint == world.sites.endpoints[0], "dialled \(response.endpoint)")
        try expect(world.httpdns.queries.map(\.name) == [DemoWorld.shop], "HTTPDNS was asked \(world.httpdns.queries)")
        return "dialled \(response.endpoint), the site saw Host and SNI \(DemoWorld.shop)"
    }

    private static func neighbour(_ world: DemoWorld) async throws -> String {
        let before = world.sites.connections.accepted
        let response = try await world.client.get(world.url(DemoWorld.blog))
        let seen = try await text(response)
        try expect(seen.hasSuffix(" \(DemoWorld.blog)"), "the site saw \(seen)")
        try expect(response.endpoint == world.sites.endpoints[0], "dialled \(response.endpoint)")
        try expect(world.sites.connections.accepted == before + 1, "the connection of another name was used")
        return "dialled \(response.endpoint) again, SNI \(DemoWorld.blog)"
    }

    private static func login(_ world: DemoWorld) async throws -> String {
        let response = try await world.client.post(
            world.url(DemoWorld.shop, "/login"),
            fields: [.contentType: "application/x-www-form-urlencoded"],
            body: .bytes("user=ada&password=lovelace".utf8)
        )
        try expect(response.status == .ok, "the login was answered \(response.status)")
        let cookies = world.client.jar?.allCookies() ?? []
        try expect(cookies.map(\.domain) == [DemoWorld.shop], "the jar has cookies of \(cookies.map(\.domain))")
        return "26 bytes of body arrived, cookie \"session\" of \(cookies[0].domain)"
    }

    private static func move(_ world: DemoWorld) async throws -> String {
        try world.httpdns.zone.set(DemoWorld.shop, to: ["127.0.0.12"])
        world.startAfresh()
        let response = try await world.client.get(world.url(DemoWorld.shop, "/me"))
        let who = try await text(response)
        try expect(response.endpoint == world.sites.endpoints[1], "dialled \(response.endpoint)")
        try expect(who == "ada", "the site answered as user \(who)")
        return "dialled \(response.endpoint), the site answered as user \(who)"
    }

    private static func isolation(_ world: DemoWorld) async throws -> String {
        try world.httpdns.zone.set(DemoWorld.blog, to: ["127.0.0.12"])
        world.startAfresh()
        let response = try await world.client.get(world.url(DemoWorld.blog, "/me"))
        let who = try await text(response)
        try expect(response.endpoint == world.sites.endpoints[1], "dialled \(response.endpoint)")
        try expect(who == DemoWorld.noUser, "the other site answered as user \(who)")
        return "dialled \(response.endpoint), \(DemoWorld.blog) received no cookies"
    }

    private static func deadAddress(_ world: DemoWorld) async throws -> String {
        let hole = try BlackHole(address: "127.0.0.13", port: world.sites.port)
        defer { hole.close() }
        try world.httpdns.zone.set(DemoWorld.shop, to: ["127.0.0.13", "127.0.0.12"])
        world.startAfresh()
        let begin = ContinuousClock.now
        let response = try await world.client.get(world.url(DemoWorld.shop, "/me"))
        let took = begin.duration(to: .now)
        try expect(try await text(response) == "ada", "the answer is wrong")
        try expect(response.hop.attempts.first?.endpoint == hole.endpoint, "the dead address was not tried first")
        try expect(took < .milliseconds(500), "it took \(took)")
        return "127.0.0.13 did not answer, \(response.endpoint) answered after \(Int64(took.milliseconds)) ms in total"
    }

    private static func theSwitch(_ world: DemoWorld) async throws -> String {
        world.client.isHTTPDNSEnabled = false
        _ = try await refused(world)
        world.client.isHTTPDNSEnabled = true
        let response = try await world.client.get(world.url(DemoWorld.shop, "/me"))
        try expect(try await text(response) == "ada", "the answer is wrong")
        return "off: the impostor is refused; on: \(response.endpoint) answered as user ada"
    }

    // MARK: Checks

    private static func refused(_ world: DemoWorld) async throws -> BeelineError {
        do {
            let response = try await world.client.get(world.url(DemoWorld.shop))
            throw Failure(description: "\(response.endpoint) was trusted")
        } catch let error as BeelineError {
            try expect(error.code == .certificateRejected, "it ended with \(error.code)")
            return error
        }
    }

    private static func text(_ response: Response) async throws -> String {
        String(buffer: try await response.collect(upTo: 1 << 16))
    }

    private static func expect(_ isTrue: Bool, _ otherwise: @autoclosure () -> String) throws {
        if !isTrue { throw Failure(description: otherwise()) }
    }
}
