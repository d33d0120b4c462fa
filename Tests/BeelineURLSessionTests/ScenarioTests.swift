// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineTesting
import BeelineURLSession
import Foundation
import NIOCore
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// One table, run in three ways: plain URLSession with a name that the system resolves, URLSession with the protocol
/// class, and the client itself. The last two must be equal. Where the first one differs, Foundation on Linux is wrong,
/// and the table names the fault so that a corrected Foundation is noticed.
@Suite("URLSession, the protocol class and the client compared")
struct ScenarioTests {
    struct Scenario: CustomTestStringConvertible, Sendable {
        let testDescription: String
        var method = "GET"
        let path: String
        var body: String?
        var fields: [String: String] = [:]
        /// The fault of plain URLSession on Linux; nil for none.
        var fault: String?
        /// Whether plain URLSession on Linux crashes the process. If so, it is skipped.
        var isFatal = false
    }

    /// The result for the program, and the requests at the servers.
    struct Outcome: Equatable, CustomStringConvertible {
        var status = 0
        var body = ""
        var url = ""
        var type: String?
        var seen: [String] = []
        var error: Int?

        var description: String { "\(status) \(url) \(type ?? "-") \(body.debugDescription) \(seen) \(error ?? 0)" }
    }

    static func redirect(_ status: Int, _ method: String, to host: String, fault: String? = nil) -> Scenario {
        Scenario(
            testDescription: "\(status) after \(method), to \(host)",
            method: method,
            path: "/redirect?status=\(status)&to=//\(host):PORT/see?end",
            body: method == "POST" || method == "PUT" ? "twelve bytes" : nil,
            fields: host == "localhost" ? [:] : ["Authorization": "Bearer secret"],
            fault: fault
        )
    }

    static let withoutBody = "the body is lost"
    static let withSecret = "the credentials go to another host"

    static let scenarios: [Scenario] =
        ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"].map {
            Scenario(testDescription: "\($0) without a body", method: $0, path: "/see")
        }
        + ["POST", "PUT", "PATCH", "DELETE"].map {
            Scenario(testDescription: "\($0) with a body", method: $0, path: "/see", body: "twelve bytes")
        }
        + [
            Scenario(testDescription: "empty", path: "/status/200"),
            Scenario(testDescription: "204", path: "/status/204"),
            Scenario(testDescription: "304", path: "/status/304"),
            Scenario(testDescription: "404", path: "/nothing"),
            Scenario(testDescription: "500", path: "/status/500"),
            Scenario(testDescription: "chunked", path: "/chunked/3"),
            Scenario(testDescription: "a large chunked body", path: "/chunked/20000"),
            Scenario(testDescription: "gzip", path: "/squeezed"),
            Scenario(testDescription: "an interim response", path: "/hints"),
            Scenario(testDescription: "trailers", path: "/trailers", isFatal: true),
            Scenario(testDescription: "a query that is percent-encoded", path: "/see?a=%2F%20%E4&b="),
            Scenario(
                testDescription: "a connection that ends before the head",
                path: "/hangup",
                fault: "-1011 for -1005"
            ),
            Scenario(testDescription: "a body that is cut short", path: "/cut", fault: "-1 for -1005"),
            Scenario(testDescription: "a cookie that a redirect sets goes to the next hop", path: "/login?to=/cookies"),
            Scenario(
                testDescription: "a cookie that a redirect sets does not go to another host",
                path: "/login?to=//127.0.0.1:PORT/cookies"
            ),
            Scenario(
                testDescription: "a cookie that a redirect deletes",
                path: "/logout?to=/cookies",
                fault: "Max-Age=0 does not delete"
            ),
            redirect(301, "GET", to: "localhost"),
            redirect(302, "GET", to: "localhost"),
            redirect(303, "GET", to: "localhost"),
            redirect(307, "GET", to: "localhost"),
            redirect(308, "GET", to: "localhost"),
            redirect(301, "POST", to: "localhost"),
            redirect(302, "POST", to: "localhost"),
            redirect(303, "POST", to: "localhost"),
            redirect(307, "POST", to: "localhost", fault: withoutBody),
            redirect(308, "POST", to: "localhost", fault: withoutBody),
            redirect(303, "PUT", to: "localhost"),
            redirect(307, "PUT", to: "localhost", fault: withoutBody),
            redirect(301, "GET", to: "127.0.0.1", fault: withSecret),
            redirect(303, "POST", to: "127.0.0.1", fault: withSecret),
            redirect(308, "POST", to: "127.0.0.1", fault: withSecret),
        ]

    static let handler: LoopbackOrigin.Handler = { request in
        switch request.path {
        case "/see":
            let authorization = request.fields[.authorization] ?? "-"
            return .text(
                "\(request.method) \(request.bodySize) \(authorization) \(request.fields[.contentType] ?? "-")"
            )
        case "/login", "/logout":
            let age = request.path == "/logout" ? "; Max-Age=0" : ""
            return Reply(
                status: .seeOther,
                fields: [.setCookie: "sid=1; Path=/\(age)", .location: request.query["to"] ?? ""]
            )
        case "/cookies": return .text(request.fields[.cookie] ?? "none")
        case "/squeezed": return Reply.text(String(repeating: "squeezed ", count: 1000)).compressed(.gzip)
        case "/hangup": return Reply(framing: .none, ending: .hangUp)
        case "/cut": return Reply(fields: [.contentLength: "100"], body: ["half"], ending: .hangUp)
        default: return try await Routes.standard(request)
        }
    }

    @Test("each scenario has the same outcome in every way", arguments: scenarios)
    func scenario(_ scenario: Scenario) async throws {
        let lab = try await SessionLab(handler: Self.handler)
        let path = scenario.path.replacingOccurrences(of: "PORT", with: "\(lab.open.port)")
        let request = URLRequest(scenario.method, try lab.openURL(path), body: scenario.body, fields: scenario.fields)
        let carried = await Self.outcome(lab) { try await Self.load(request, by: lab.session()) }
        lab.client.jar?.removeAll()
        let own = await Self.outcome(lab) { try await Self.load(request, by: lab.client) }
        #expect(carried == own)
        #if !canImport(Darwin)
        if scenario.isFatal { return await lab.stop() }
        #endif
        let plain = await Self.outcome(lab) { try await Self.load(request, by: URLSession(configuration: .ephemeral)) }
        #if !canImport(Darwin)
        if let fault = scenario.fault {
            #expect(plain != own, "no longer so: \(fault)")
            return await lab.stop()
        }
        #endif
        #expect(plain == own)
        await lab.stop()
    }

    enum Way: String, CaseIterable {
        case plain, carried, own
    }

    enum Phase: String, CaseIterable {
        case asking, connecting, head, body
    }

    // Plain URLSession uses the system's resolver, which cannot be delayed here.
    static let cancellations: [(Way, Phase)] = Way.allCases.flatMap { way in
        Phase.allCases.filter { way != .plain || $0 != .asking }.map { (way, $0) }
    }

    @Test("a cancelled load ends in the same way, in each phase", arguments: cancellations)
    func cancelled(_ way: Way, _ phase: Phase) async throws {
        let gate = Gate()
        let lab = try await SessionLab { _ in
            if phase == .head { try await gate.wait() }
            return .chunks("one", .wait(gate), "two")
        }
        let hole = try BlackHole()
        lab.upstream.zone.set("silent.test", fault: .silence)
        try lab.upstream.zone.set("hole.test", to: ["127.0.0.1"])
        let url =
            switch phase {
            case .asking: try URL(fromTest: "http://silent.test/")
            case .connecting where way == .plain: try URL(fromTest: "http://\(hole.endpoint)/")
            case .connecting: try URL(fromTest: "http://hole.test:\(hole.endpoint.port)/")
            case .head, .body: try lab.openURL("/")
            }
        let load = Task {
            switch way {
            case .plain: _ = try await URLSession(configuration: .ephemeral).data(from: url)
            case .carried: _ = try await lab.session().data(from: url)
            case .own: _ = try await lab.client.get(url.absoluteString).collect(upTo: 1 << 20)
            }
        }
        switch phase {
        case .asking, .connecting: if way != .plain { _ = try await lab.upstream.queries(atLeast: 1) }
        case .head, .body: try await gate.arrivals(atLeast: 1)
        }
        load.cancel()
        guard case .failure(let error) = await load.result else { throw NoStorage() }
        switch error {
        case let error as URLError: #expect(error.code == .cancelled)
        case let error as BeelineError: #expect(URLError(error, for: nil).code == .cancelled)
        case let error as DirectHTTPError: #expect(error.code == .cancelled)
        default: #expect(error is CancellationError)
        }
        if way != .plain { _ = try await lab.open.connections { $0.open == 0 } }
        gate.open()
        hole.close()
        await lab.stop()
    }

    static func outcome(_ lab: SessionLab, _ load: () async throws -> Outcome) async -> Outcome {
        let before = lab.open.requests.count
        var outcome = Outcome()
        do {
            outcome = try await load()
        } catch let error as BeelineError {
            outcome.error = URLError(error, for: nil).errorCode
        } catch {
            outcome.error = (error as NSError).code
        }
        outcome.seen = lab.open.requests[before...].map { request in
            let type = request.fields[.contentType] ?? "-"
            return
                "\(request.method) \(request.target) \(request.bodySize) \(type) \(request.fields[.authorization] ?? "-")"
        }
        return outcome
    }

    static func load(_ request: URLRequest, by session: URLSession) async throws -> Outcome {
        let (text, response) = try await session.text(request)
        return Outcome(
            status: response.statusCode,
            body: text,
            url: response.url?.absoluteString ?? "",
            type: response.value(forHTTPHeaderField: "Content-Type")
        )
    }

    static func load(_ request: URLRequest, by client: BeelineClient) async throws -> Outcome {
        var fields = HTTPFields()
        for (name, value) in request.allHTTPHeaderFields ?? [:] {
            if let name = HTTPField.Name(name) { fields[name] = value }
        }
        let method = HTTPRequest.Method(rawValue: request.httpMethod ?? "") ?? .get
        // URLSession sets a form's content type for the body of a POST; the client sets none.
        if method == .post, request.httpBody != nil { fields[.contentType] = "application/x-www-form-urlencoded" }
        let response = try await client.send(
            method,
            request.url?.absoluteString ?? "",
            fields: fields,
            body: request.httpBody.map { .bytes($0) } ?? .none
        )
        return Outcome(
            status: response.status.code,
            body: String(decoding: try await response.collect(upTo: 1 << 24).readableBytesView, as: UTF8.self),
            url: response.url.description,
            type: response.fields[.contentType]
        )
    }
}
