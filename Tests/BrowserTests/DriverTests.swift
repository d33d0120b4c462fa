// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import CookieJar
import Foundation
import HTTPDNS
import HTTPTypes
import Names
import Testing

@testable import BeelineWebDriver

/// Tests of the driver code that need no browser.
@Suite("Drivers", .timeLimit(.minutes(1)))
struct DriverTests {
    @Test("the error for a missing browser names its Debian packages", arguments: BrowserKind.allCases)
    func notInstalled(_ kind: BrowserKind) throws {
        // MiniBrowser is outside PATH, in a folder of its own; its driver is in PATH, so it is missing here, too.
        let error = #expect(throws: WebDriverError.self) { try BrowserPrograms.find(kind, path: "/nowhere") }
        #expect(error?.code == .notInstalled)
        for package in kind.packages { #expect(error?.message.contains(package) == true) }
    }

    @Test("if no browser is installed, the error names the packages of all browsers")
    func nothingInstalled() {
        let error = #expect(throws: WebDriverError.self) { try BrowserPrograms.find(nil, path: "") }
        #expect(error?.code == .notInstalled)
        #expect(error?.message.contains("apt-get install chromium chromium-driver") == true)
    }

    @Test("starting a browser with a window fails without a display, and the error says so")
    func noDisplay() async {
        var configuration = BrowserConfiguration()
        configuration.environment = ["PATH": "/usr/bin:/bin"]
        let error = await #expect(throws: WebDriverError.self) { _ = try await Browser.start(configuration) }
        #expect(error?.code == .cannotStart)
        #expect(error?.message.contains("needs a display") == true)
    }

    @Test("ending a process ends its children, too, and leaves no zombie")
    func ownedProcess() async throws {
        let folder = try ProfileFolder()
        let log = folder["log"]
        let script = "sh -c 'trap \"\" TERM; echo $$; while :; do sleep 1; done' & sleep 100"
        let process = try OwnedProcess(["/bin/sh", "-c", script], environment: [:], output: log)
        var child: Int32?
        try await eventually("the child's number", every: .milliseconds(10)) {
            folder.text("log")?.hasSuffix("\n") == true
        }
        child = folder.text("log").flatMap { Int32($0.dropLast()) }
        #expect(process.status == nil)
        await process.end()
        #expect(process.status == 128 + SIGTERM)
        var status: Int32 = 0
        #expect(waitpid(-1, &status, WNOHANG) <= 0)
        let number = try #require(child)
        // It is not our child; the process that inherited it may take a moment to reap it.
        try await eventually("the end of \(number)", every: .milliseconds(10)) {
            kill(number, 0) != 0 || Self.isZombie(number)
        }
    }

    private static func isZombie(_ number: Int32) -> Bool {
        let text = try? String(contentsOfFile: "/proc/\(number)/stat", encoding: .utf8)
        return text?.contains(") Z ") ?? true
    }

    @Test("a started program inherits no socket, so it cannot keep a port open")
    func noSockets() async throws {
        let site = try await LoopbackOrigin.start { _ in .text("") }
        let folder = try ProfileFolder()
        let process = try OwnedProcess(["/bin/ls", "-l", "/proc/self/fd"], environment: [:], output: folder["log"])
        await process.wait()
        let lines = folder.text("log") ?? ""
        #expect(process.status == 0)
        #expect(!lines.contains("socket:"), "\(lines)")
        await site.stop()
    }

    @Test("a descriptor number that was reused for another file is not passed to programs as inherited")
    func reusedDescriptor() throws {
        let files = [open("/dev/null", O_RDONLY), open("/dev/zero", O_RDONLY)]
        let number = fcntl(files[0], F_DUPFD, 1500)
        try #require(number >= 1500)
        defer { for file in files + [number] { close(file) } }
        let inherited = InheritedDescriptors(among: number..<number + 1)
        #expect(inherited.numbers == [number])
        #expect(dup2(files[1], number) == number)
        #expect(inherited.numbers.isEmpty)
    }

    @Test("the error for a missing program names the program")
    func noProgram() throws {
        let folder = try ProfileFolder()
        let error = #expect(throws: WebDriverError.self) {
            _ = try OwnedProcess(["/nowhere/driver"], environment: [:], output: folder["log"])
        }
        #expect(error?.code == .cannotStart)
        #expect(error?.message.hasPrefix("/nowhere/driver: ") == true)
    }

    @Test(
        "a refused command throws the driver's own message",
        arguments: [
            (
                404, #"{"value":{"error":"no such window","message":"gone\nstack"}}"#, WebDriverError.Code.ended,
                "no such window: gone"
            ),
            (400, #"{"value":{"error":"invalid argument","message":""}}"#, .refused, "invalid argument"),
            (500, #"{"value":{"error":"timeout","message":"timeout: slow"}}"#, .timedOut, "timeout: slow"),
            (200, "<html>", .refused, "the driver answered GET /status with 200, and not in JSON"),
        ]
    )
    func refusals(_ status: Int, _ body: String, _ code: WebDriverError.Code, _ message: String) async throws {
        let driver = try await LoopbackOrigin.start { _ in .text(body, status: HTTPResponse.Status(code: status)) }
        let connection = try WebDriverConnection(port: driver.port, limit: .seconds(20))
        let error = await #expect(throws: WebDriverError.self) { try await connection.send(.get, path: "/status") }
        #expect(error?.code == code)
        #expect(error?.message == message)
        await connection.close()
        await driver.stop()
    }

    @Test("answers in another order reach their commands, and a closed connection fails the commands that wait")
    func biDi() async throws {
        let browser = try await LoopbackOrigin.start { request in
            .webSocket(for: request) { connection in
                for parent in [#", "parent": "1""#, ""] {
                    let text = #"{"type":"event","method":"tab.closed","params":{"context": "2"\#(parent)}}"#
                    try await connection.send(RawWebSocketFrame(.text, Array(text.utf8)).bytes)
                }
                var frames: [RawWebSocketFrame] = []
                while frames.count < 3, let frame = try await connection.receiveWebSocketFrame() {
                    frames.append(frame)
                }
                let numbers = frames.compactMap { JSONValue($0.payload)?["id"]?.integer }.sorted()
                for number in numbers.dropLast().reversed() {
                    let text = #"{"type":"success","id":\#(number),"result":{"number":\#(number)}}"#
                    try await connection.send(RawWebSocketFrame(.text, Array(text.utf8)).bytes)
                }
            }
        }
        let url = "ws://127.0.0.1:\(browser.port)/session"
        let connection = try await BrowserConnection(
            to: url,
            origin: "http://beeline.invalid",
            limit: .seconds(20)
        ) { event in
            let parameters: JSONValue? = event.parameters()
            return event.method == "tab.closed" && parameters?["parent"] == nil ? .closing : nil
        }
        // Without the hint this would take longer than the test's time limit.
        await connection.waitForHint(after: .seconds(600), within: .seconds(600))
        let commands = ["one", "two", "three"].map { name in Task { try await connection.send(name) } }
        var ended = 0
        var numbers: Set<Int64> = []
        for command in commands {
            switch await command.result {
            case .success(let value): numbers.insert(value["number"]?.integer ?? 0)
            case .failure(let error):
                #expect((error as? WebDriverError)?.code == .ended)
                ended += 1
            }
        }
        #expect(numbers.count == 2)
        #expect(ended == 1)
        #expect(!connection.isOpen)
        await connection.close()
        await browser.stop()
    }

    @Test(
        "events of Firefox count as hints only if a server sets a cookie or a tab closes",
        arguments: [
            (
                #"{"method":"browsingContext.contextDestroyed","params":{"context":"1","parent":null}}"#,
                BrowserHint.closing
            ),
            (#"{"method":"browsingContext.contextDestroyed","params":{"context":"2","parent":"1"}}"#, nil),
            (#"{"method":"browsingContext.load","params":{"context":"1"}}"#, nil),
            (
                #"{"method":"network.responseStarted","params":{"response":{"headers":[{"name":"Set-Cookie"}]}}}"#,
                .cookies
            ),
            (#"{"method":"network.responseStarted","params":{"response":{"headers":[{"name":"cookie"}]}}}"#, nil),
            (#"{"method":"network.responseStarted"}"#, nil),
        ]
    )
    func hints(_ event: String, _ hint: BrowserHint?) throws {
        #expect(FirefoxSession.hint(try #require(BrowserMessage(event))) == hint)
    }

    @Test("damaged messages of a browser never trap, and a message without a list of cookies has no cookies")
    func damagedMessages() {
        var random = SeededRandom(seed: 8)
        let seeds = [
            #"{"id":1,"result":{"cookies":[{"name":"n","value":{"type":"base64","value":"/w=="},"domain":"a.test","path":"/"}]}}"#,
            #"{"id":2,"result":{"cookies":[{"name":"n","value":"v","domain":".a.test","path":"/","expires":1.9e9}]}}"#,
            #"{"id":3,"error":"no such frame","message":"gone"}"#,
            #"{"method":"network.responseStarted","params":{"response":{"headers":[{"name":"set-cookie"}]}}}"#,
        ]
        var lists = 0
        for round in 0..<FuzzRounds.count(ordinary: 5_000) {
            var octets = Array(seeds[round % seeds.count].utf8)
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                octets[Int.random(in: octets.indices, using: &random)] = .random(in: 0x20...0xff, using: &random)
            }
            let text = String(decoding: octets, as: UTF8.self)
            guard let message = BrowserMessage(text) else { continue }
            _ = FirefoxSession.hint(message)
            guard let list = try? message.result(of: "x", as: DriverCookies.self) else { continue }
            lists += 1
            #expect(text.contains("\"cookies\""), "\(text)")
            for cookie in list.cookies { _ = (Cookie(devTools: cookie), Cookie(biDi: cookie), Cookie(webKit: cookie)) }
        }
        #expect(lists > 100)
    }

    @Test("cookies read from a driver are written back unchanged")
    func cookieForms() throws {
        var random = SeededRandom(seed: 7)
        let rounds = ProcessInfo.processInfo.environment["BEELINE_FUZZ"].flatMap { Int($0) } ?? 5_000
        for _ in 0..<rounds {
            let value = try Self.shown(Self.cookie(&random))
            if let cookie = Cookie(devTools: value) {
                let again = try #require(try cookie.devTools.map(Self.shown))
                #expect(Cookie(devTools: again)?.pairOctets == cookie.pairOctets)
            }
            // Firefox reads and writes other values in different forms.
            if let cookie = Cookie(biDi: value), cookie.valueOctets.allSatisfy({ $0 < 0x80 }),
                let again = try cookie.biDi.map(Self.shown)
            {
                var expected = cookie
                expected.partition = nil
                #expect(Cookie(biDi: again) == expected)
            }
            if let cookie = Cookie(webKit: value), let written = cookie.webKit {
                let again = try Self.shown(written)
                // A host-only cookie is written without a domain; the driver uses the page's host.
                #expect(again.domain == (cookie.isHostOnly ? nil : "." + cookie.domain))
                #expect(again.text == cookie.value)
            }
        }
    }

    @Test("Firefox gets the characters of a value and the octets of a name, and shows them in the same way")
    func firefoxText() throws {
        let biDi = try #require(Cookie("é", "é", domain: "a.test").biDi)
        // Base64 of the octet E9.
        #expect(biDi["value"]?["value"]?.string == "6Q==")
        #expect(biDi["name"]?.string == "Ã©")
        #expect(Cookie("n", "€", domain: "a.test").biDi == nil)
        let common: [String: JSONValue] = ["name": "Ã©", "domain": "a.test", "path": "/"]
        let read = { (text: String) in
            let value: JSONValue = ["type": "string", "value": .string(text)]
            return try Cookie(biDi: Self.shown(.object(common.merging(["value": value]) { $1 })))
        }
        let cookie = try read("é")
        #expect(cookie?.value == "é" && cookie?.name == "é")
        #expect(try read("\u{FFFD}") == nil, "Firefox replaced octets that are not UTF-8")
    }

    /// Decodes a cookie from JSON.
    static func shown(_ value: JSONValue) throws -> DriverCookie {
        try JSONDecoder().decode(DriverCookie.self, from: Data(value.text.utf8))
    }

    /// A cookie as drivers write it, with random fields missing, of odd values or of another type.
    private static func cookie(_ random: inout SeededRandom) -> JSONValue {
        let texts = ["", "a", "a.test", ".a.test", "é\u{1}\"\\", "https://b.test", "None", "lax", "null", "/x"]
        func odd(_ random: inout SeededRandom) -> JSONValue {
            switch Int.random(in: 0..<7, using: &random) {
            case 0: .null
            case 1: .bool(.random(using: &random))
            case 2: .number("\(Int64.random(in: -3...2_000_000_000, using: &random)).5")
            case 3: .array([.string("a")])
            case 4: ["type": "string", "value": "text"]
            case 5: ["type": "base64", "value": "/w=="]
            default: .string(texts.randomElement(using: &random) ?? "")
            }
        }
        var members: [String: JSONValue] = [
            "name": "n", "value": "v", "domain": ".a.test", "path": "/", "secure": true, "httpOnly": false,
            "sameSite": "Lax", "expires": .number("1900000000.25"), "expiry": .number(1_900_000_000),
            "session": false, "partitionKey": ["topLevelSite": "https://b.test", "hasCrossSiteAncestor": true],
        ]
        if Bool.random(using: &random) { members["value"] = ["type": "string", "value": "v"] }
        for name in members.keys.sorted() where Int.random(in: 0..<4, using: &random) == 0 {
            members[name] = Bool.random(using: &random) ? nil : odd(&random)
        }
        return .object(members)
    }
}
