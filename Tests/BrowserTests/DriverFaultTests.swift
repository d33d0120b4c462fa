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
    private static func launch(_ driver: LoopbackOrigin, _ folder: ProfileFolder) throws -> DriverSession {
        DriverSession(
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
                // Cancellation ends the wait.
                try? await Gate().wait()
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

    @Test(
        "an answer without a list of cookies is an error, not an empty list",
        arguments: [#"{}"#, #"{"cookies":null}"#, #"{"cookies":{}}"#, #"{"cookies":["a"]}"#]
    )
    func noList(_ result: String) throws {
        let message = try #require(BrowserMessage(#"{"id":1,"result":\#(result)}"#))
        let error = #expect(throws: WebDriverError.self) { try message.result(of: "x", as: DriverCookies.self) }
        #expect(error?.code == .refused)
        let empty = try #require(BrowserMessage(#"{"id":1,"result":{"cookies":[]}}"#))
        #expect(try empty.result(of: "x", as: DriverCookies.self).cookies.isEmpty)
    }

    @Test("closing a browser that hangs gives up after its time limit")
    func hangsAtTheEnd() async {
        let wasCancelled = NIOLockedValueBox(false)
        await briefly(.milliseconds(20)) {
            try? await Gate().wait()
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
        ) { _ in nil }
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
        let script = "#!/bin/sh\necho $$ >'\(tools["number"])'\nexec sleep 600\n"
        let program = try tools.write(script, to: "certutil")
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
        if isCancelled {
            try await eventually("the start of certutil") { tools.text("number")?.hasSuffix("\n") == true }
            start.cancel()
        }
        let result = await start.result
        let error = #expect(throws: WebDriverError.self) { try result.get() }
        #expect(error?.code == .cannotStart)
        // On a busy machine the short limit may end it before its first line.
        if let number = tools.text("number").flatMap({ pid_t($0.dropLast()) }) { #expect(kill(number, 0) != 0) }
    }

    @Test("a time limit that is too large for a driver is sent as the largest that drivers accept")
    func endlessLimit() {
        #expect(JSONValue.timeouts(.seconds(Int64.max))["pageLoad"]?.integer == 9_007_199_254_740_991)
        #expect(JSONValue.timeouts(.seconds(-1))["script"]?.integer == 0)
        #expect(JSONValue.timeouts(.seconds(60))["script"]?.integer == 60_000)
    }

    @Test("a command has its own time limit, even if the limit of the start is longer")
    func commandLimit() async throws {
        let (answer, _) = AsyncStream<Void>.makeStream()
        let driver = try await LoopbackOrigin.start { _ in
            for await _ in answer {}
            return .text(#"{"value":null}"#)
        }
        let connection = try WebDriverConnection(port: driver.port, limit: .seconds(600))
        let error = await #expect(throws: WebDriverError.self) {
            try await connection.send(.get, path: "/status", within: .milliseconds(50))
        }
        #expect(error?.code == .timedOut)
        await connection.close()
        await driver.stop()
    }

    @Test("a driver that refuses to list its windows still counts as open")
    func refusedWindows() async throws {
        let driver = try await LoopbackOrigin.start { _ in
            .text(#"{"value":{"error":"unknown error","message":"busy"}}"#, status: .internalServerError)
        }
        let folder = try ProfileFolder()
        let launch = try Self.launch(driver, folder)
        #expect(await launch.hasWindow())
        await launch.end()
        await driver.stop()
    }

    @Test("no command is sent to the port of an ended driver, because another program may use it")
    func endedDriver() async throws {
        let driver = try await LoopbackOrigin.start { _ in .text(#"{"value":null}"#) }
        let folder = try ProfileFolder()
        let launch = DriverSession(
            connection: try WebDriverConnection(port: driver.port, limit: .seconds(20)),
            process: try OwnedProcess(["/bin/true"], environment: [:], output: folder["log"]),
            path: "/session/1"
        )
        await launch.process.wait()
        for command in ["/cookie", "/url"] {
            let error = await #expect(throws: WebDriverError.self) { try await launch.post(command, [:]) }
            #expect(error?.code == .ended)
        }
        #expect(driver.requests.isEmpty)
        await launch.end()
        await driver.stop()
    }

    @Test("the owners of a port's listening sockets are read from the system's tables")
    func socketOwners() async throws {
        let tables = [
            """
              sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
               0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 1 1 0 100 0
               1: 0100007F:1F91 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1001        0 2 1 0 100 0
               2: 00000000:FFFF 00000000:0000 0A
            """,
            """
               0: 00000000000000000000000001000000:1F90 0:0000 0A 00000000:00000000 00:00000000 00000000  1002 0 3 1
            """,
        ]
        #expect(ListeningSockets(tables).owners == [8080: [1000, 1002]])
        #if os(Linux)
        let origin = try await LoopbackOrigin.start { _ in .text("") }
        #expect(ListeningSockets.isOwn(port: origin.port) == true)
        await origin.stop()
        #expect(ListeningSockets.isOwn(port: try await DriverSession.freePort()) == false)
        #endif
    }

    @Test("the profile of a killed process is removed at the next start, and profiles in use stay")
    func abandonedProfiles() throws {
        let parent = try ProfileFolder()
        let inUse = try ProfileFolder(in: parent.path)
        for (name, note) in [("beeline-browser-killed", "Beeline\n"), ("beeline-browser-starts", "")] {
            _ = try parent.makeFolder("\(name)/profile")
            try parent.write(note, to: "\(name)/beeline-owner")
        }
        _ = try parent.makeFolder("beeline-browser-others")
        let next = try ProfileFolder(in: parent.path)
        let names = try FileManager.default.contentsOfDirectory(atPath: parent.path)
        let kept = names.filter { $0.hasPrefix("beeline-browser-") }.map { "\(parent.path)/\($0)" }
        let expected = [inUse.path, next.path, parent["beeline-browser-others"], parent["beeline-browser-starts"]]
        #expect(Set(kept) == Set(expected))
    }

    #if os(Linux)
    @Test("a browser whose owner was killed is ended at the next start, but not a new process with its number")
    func orphanedBrowser() async throws {
        let parent = try ProfileFolder()
        let owner = try ProfileFolder(in: parent.path)
        let process = try owner.start(["/bin/sleep", "600"], environment: [:], log: "log")
        let lock = try #require(owner.text("beeline-owner"))
        // Without a lock, as after the end of the owner. The start time of the first one is wrong.
        let other = try owner.start(["/bin/sleep", "600"], environment: [:], log: "log")
        let otherLock = try #require(owner.text("beeline-owner")).dropFirst(lock.count)
        for text in ["Beeline\n\(otherLock.dropLast())0\n", lock] {
            _ = try parent.makeFolder("beeline-browser-killed")
            try parent.write(text, to: "beeline-browser-killed/beeline-owner")
            _ = try ProfileFolder(in: parent.path)
            #expect(!FileManager.default.fileExists(atPath: parent["beeline-browser-killed"]))
        }
        await process.wait()
        #expect(process.status == 128 + SIGKILL)
        kill(other.number, SIGTERM)
        await other.wait()
        #expect(other.status == 128 + SIGTERM)
    }

    @Test("a link in the place of a profile is left alone, so that what it leads to is not removed")
    func linkToFolder() throws {
        let parent = try ProfileFolder()
        let target = try parent.makeFolder("target")
        try parent.write("Beeline\n", to: "target/beeline-owner")
        let link = parent["beeline-browser-linked"]
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: target)
        _ = try ProfileFolder(in: parent.path)
        #expect(FileManager.default.fileExists(atPath: parent["target/beeline-owner"]))
    }

    @Test("a profile that could only be removed in part is removed by a later start")
    func partlyRemovedProfile() async {
        await #expect(processExitsWith: .success) {
            // Root may remove files from every folder.
            if geteuid() == 0 { try #require(setuid(65_534) == 0) }
            let parent = try ProfileFolder(in: "/tmp")
            let killed = "beeline-browser-killed"
            let profile = try parent.makeFolder("\(killed)/profile")
            for name in ["beeline-owner", "profile/Cookies"] { try parent.write("Beeline\n", to: "\(killed)/\(name)") }
            try #require(chmod(profile, 0o500) == 0)
            _ = try ProfileFolder(in: parent.path)
            try #require(FileManager.default.fileExists(atPath: "\(profile)/Cookies"))
            try #require(chmod(profile, 0o700) == 0)
            _ = try ProfileFolder(in: parent.path)
            try #require(!FileManager.default.fileExists(atPath: parent[killed]))
        }
    }
    #endif

    @Test("a step that must not stop halfway is cancelled some time after its task")
    func undisturbedEnds() async throws {
        let (entered, enter) = AsyncStream<Void>.makeStream()
        let work = Task {
            try await undisturbed(for: .milliseconds(20)) { () async throws(WebDriverError) in
                enter.yield()
                try? await Gate().wait()
                return Task.isCancelled
            }
        }
        for await _ in entered { break }
        work.cancel()
        #expect(try await work.value)
    }

    @Test("a step that must not stop halfway continues when its task is cancelled")
    func undisturbedGoesOn() async throws {
        let (entered, enter) = AsyncStream<Void>.makeStream()
        let (cancelled, cancel) = AsyncStream<Void>.makeStream()
        let work = Task {
            try await undisturbed(for: .seconds(600)) { () async throws(WebDriverError) in
                enter.yield()
                for await _ in cancelled { break }
                return Task.isCancelled
            }
        }
        for await _ in entered { break }
        work.cancel()
        cancel.yield()
        #expect(try await work.value == false)
    }

    @Test("a cancelled caller stops waiting for a session that hangs, and the next caller gets its turn")
    func cancelledTurn() async throws {
        let mutex = AsyncMutex()
        let (entered, enter) = AsyncStream<Void>.makeStream()
        let (opened, open) = AsyncStream<Void>.makeStream()
        let first = Task {
            try await mutex.withLock { () async throws(WebDriverError) in
                enter.yield()
                for await _ in opened { break }
            }
        }
        for await _ in entered { break }
        let impatient = Task { try await mutex.withLock { Issue.record("a cancelled caller must not run") } }
        try await eventually("the caller in the queue") { mutex.waiting == 1 }
        impatient.cancel()
        await #expect(throws: WebDriverError.self) { try await impatient.value }
        async let next: Int = mutex.withLock { 1 }
        open.yield()
        try await first.value
        #expect(try await next == 1)
    }

    @Test("cookies are read after a pause when a server sets some, and at once when a tab closes")
    func pause() async throws {
        let isClosing = NIOLockedValueBox(false)
        let browser = try await LoopbackOrigin.start { request in
            .webSocket(for: request) { connection in
                for method in ["cookies", "cookies", "closing"] {
                    let command = try await connection.receiveWebSocketFrame()
                    let number = command.flatMap { JSONValue($0.payload) }?["id"]?.integer ?? 0
                    isClosing.withLockedValue { $0 = method == "closing" }
                    for text in [#"{"method":"\#(method)","params":{}}"#, #"{"id":\#(number),"result":{}}"#] {
                        try await connection.send(RawWebSocketFrame(.text, Array(text.utf8)).bytes)
                    }
                }
                try await connection.hold()
            }
        }
        let connection = try await BrowserConnection(
            to: "ws://127.0.0.1:\(browser.port)/session",
            origin: nil,
            limit: .seconds(20)
        ) { $0.method == "cookies" ? .cookies : $0.method == "closing" ? .closing : nil }
        try await connection.send("one")
        await connection.waitForHint(after: .zero, within: .seconds(600))
        try await connection.send("two")
        async let closing: Void = connection.waitForHint(after: .seconds(600), within: .seconds(600))
        try await connection.send("three")
        await closing
        #expect(isClosing.withLockedValue { $0 })
        await connection.close()
        await browser.stop()
    }
}
