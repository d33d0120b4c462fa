// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import CookieJar
import Foundation
import HTTPDNS
import HTTPTypes
import NIOConcurrencyHelpers
import Names
import Testing

@testable import BeelineWebDriver

/// Drivers and browsers that hang, send wrong answers or lose their tabs, played by loopback servers.
@Suite("Drivers that fail", .timeLimit(.minutes(1)))
struct DriverFaultTests {
    /// A session with the server that plays the driver.
    private static func launch(_ driver: LoopbackOrigin, _ folder: ProfileFolder) throws -> DriverLaunch {
        DriverLaunch(
            connection: try WebDriverConnection(port: driver.port, limit: .seconds(20)),
            process: try OwnedProcess(["/bin/sleep", "600"], environment: [:], output: folder["log"]),
            path: "/session/1"
        )
    }

    /// The last requests that the driver received.
    private static func last(_ count: Int, of driver: LoopbackOrigin) -> [String] {
        driver.requests.suffix(count).map { "\($0.method) \($0.path.dropFirst(10)) \($0.text)" }
    }

    private static let gone = #"{"value":{"error":"no such window","message":"no such window: closed"}}"#

    @Test("cancelling work in a new tab closes that tab and returns to the previous one")
    func cancelledInTab() async throws {
        let driver = try await LoopbackOrigin.start { request in
            switch (request.method, request.path) {
            case (.get, "/session/1/window"): .text(#"{"value":"own"}"#)
            case (.post, "/session/1/window/new"): .text(#"{"value":{"handle":"new","type":"tab"}}"#)
            default: .text(#"{"value":null}"#)
            }
        }
        let folder = try ProfileFolder()
        let launch = try Self.launch(driver, folder)
        let (entered, enter) = AsyncStream<Void>.makeStream()
        let work = Task {
            try await launch.inNewTab { () async throws(WebDriverError) in
                enter.yield()
                // Cancellation ends the sleep.
                try? await ContinuousClock().sleep(for: .seconds(600))
                try await launch.navigate(to: "http://a.test/")
            }
        }
        for await _ in entered { break }
        work.cancel()
        await #expect(throws: WebDriverError.self) { try await work.value }
        #expect(Self.last(2, of: driver) == ["DELETE /window ", #"POST /window {"handle":"own"}"#])
        await launch.end()
        await driver.stop()
    }

    @Test("if the switch to a new tab fails, the previous tab stays open")
    func noSwitch() async throws {
        let driver = try await LoopbackOrigin.start { request in
            switch (request.method, request.path, request.text) {
            case (.get, "/session/1/window", _): .text(#"{"value":"own"}"#)
            case (.post, "/session/1/window/new", _): .text(#"{"value":{"handle":"new","type":"tab"}}"#)
            case (.post, "/session/1/window", #"{"handle":"new"}"#): .text(Self.gone, status: .notFound)
            default: .text(#"{"value":null}"#)
            }
        }
        let folder = try ProfileFolder()
        let launch = try Self.launch(driver, folder)
        await #expect(throws: WebDriverError.self) {
            try await launch.inNewTab { Issue.record("the tab is not there") }
        }
        #expect(!driver.requests.contains { $0.method == .delete })
        #expect(Self.last(1, of: driver) == [#"POST /window {"handle":"own"}"#])
        await launch.end()
        await driver.stop()
    }

    @Test("if the current tab was closed, commands go to another open tab")
    func closedTab() async throws {
        let current = NIOLockedValueBox("closed")
        let driver = try await LoopbackOrigin.start { request in
            switch (request.method, request.path) {
            case (.get, "/session/1/window/handles"): return .text(#"{"value":["other"]}"#)
            case (.post, "/session/1/window"):
                current.withLockedValue { $0 = "other" }
                return .text(#"{"value":null}"#)
            case (.get, "/session/1/cookie"):
                let isThere = current.withLockedValue { $0 == "other" }
                return isThere ? .text(#"{"value":[]}"#) : .text(Self.gone, status: .notFound)
            default: return .text(#"{"value":null}"#)
            }
        }
        let folder = try ProfileFolder()
        let launch = try Self.launch(driver, folder)
        let cookies = try await launch.inOpenTab { () async throws(WebDriverError) in try await launch.get("/cookie") }
        #expect(cookies.array?.isEmpty == true)
        #expect(driver.requests.contains { $0.text == #"{"handle":"other"}"# })
        await launch.end()
        await driver.stop()
    }

    @Test("an answer without a list of cookies is an error, not an empty list")
    func noList() throws {
        for value: JSONValue? in [nil, [:], "", .null] {
            #expect(throws: WebDriverError.self) { try JSONValue.list(value, "cookies") }
        }
        #expect(try JSONValue.list([], "cookies").isEmpty)
    }

    @Test("closing a browser that hangs gives up after its time limit")
    func hangsAtTheEnd() async {
        let wasCancelled = NIOLockedValueBox(false)
        await briefly(.milliseconds(20)) {
            try? await ContinuousClock().sleep(for: .seconds(600))
            wasCancelled.withLockedValue { $0 = Task.isCancelled }
        }
        #expect(wasCancelled.withLockedValue { $0 })
    }

    #if os(Linux)
    @Test("a program counts as failed if its exit status is lost because SIGCHLD is ignored")
    func ignoredChildren() async {
        await #expect(processExitsWith: .success) {
            signal(SIGCHLD, SIG_IGN)
            let folder = try ProfileFolder()
            let process = try OwnedProcess(["/bin/false"], environment: [:], output: folder["log"])
            await process.wait()
            try #require(process.status == OwnedProcess.unknownStatus)
        }
    }
    #endif

    @Test("a command to a browser that reads nothing times out")
    func deafBrowser() async throws {
        let browser = try await LoopbackOrigin.start { request in
            .webSocket(for: request) { try await $0.hold() }
        }
        let connection = try await BrowserConnection(
            to: "ws://127.0.0.1:\(browser.port)/session",
            origin: nil,
            limit: .milliseconds(500)
        ) { _ in false }
        // More than the kernel buffers for a peer that reads nothing.
        let text = String(repeating: "x", count: 16 << 20)
        let error = await #expect(throws: WebDriverError.self) {
            try await connection.send("one", ["text": .string(text)])
        }
        #expect(error?.code == .timedOut)
        await connection.close()
        await browser.stop()
    }

    @Test("a certutil that hangs is ended and reported as an error", arguments: [true, false])
    func hangingCertutil(_ isCancelled: Bool) async throws {
        let (tools, profile) = (try ProfileFolder(), try ProfileFolder())
        let program = try tools.write("#!/bin/sh\nsleep 600\n", to: "certutil")
        try #require(chmod(program, 0o700) == 0)
        let environment = ["PATH": "\(tools.path):/usr/bin:/bin"]
        let start = Task {
            try await profile.trust(
                ["root"],
                in: "database",
                environment: environment,
                within: isCancelled ? .seconds(600) : .milliseconds(200)
            )
        }
        if isCancelled { start.cancel() }
        let result = await start.result
        #expect(throws: WebDriverError.self) { try result.get() }
    }

    @Test("a time limit that is too large for a driver is sent as the largest that drivers accept")
    func endlessLimit() {
        #expect(JSONValue.timeouts(.seconds(Int64.max))["pageLoad"]?.integer == 9_007_199_254_740_991)
        #expect(JSONValue.timeouts(.seconds(-1))["script"]?.integer == 0)
        #expect(JSONValue.timeouts(.seconds(60))["script"]?.integer == 60_000)
    }
}
