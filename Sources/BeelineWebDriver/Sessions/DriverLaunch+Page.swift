// SPDX-License-Identifier: Apache-2.0

import HTTPDNS
import HTTPTypes

/// What every W3C WebDriver does in the same way.
extension DriverLaunch {
    /// Asks for something of the session.
    func get(_ command: String) async throws(WebDriverError) -> JSONValue {
        try await connection.send(.get, path + command)
    }

    /// Has the session do something.
    @discardableResult
    func post(_ command: String, _ parameters: JSONValue) async throws(WebDriverError) -> JSONValue {
        try await connection.send(.post, path + command, parameters)
    }

    /// Takes something of the session away.
    func delete(_ command: String) async throws(WebDriverError) {
        try await connection.send(.delete, path + command)
    }

    func navigate(to url: String) async throws(WebDriverError) {
        try await post("/url", ["url": .string(url)])
    }

    func evaluate(_ expression: String) async throws(WebDriverError) -> String {
        // The result travels as text, so that numbers and depth are as the page wrote them.
        let script = """
            const done = arguments[arguments.length - 1];
            Promise.resolve().then(() => (\(expression)))
                .then(value => done([true, JSON.stringify(value === undefined ? null : value)]),
                      error => done([false, String(error)]));
            """
        let body: JSONValue = ["script": .string(script), "args": []]
        let result = try await post("/execute/async", body).array ?? []
        guard result.count == 2, let text = result[1].string else {
            throw WebDriverError(.refused, "the script gave nothing that is JSON")
        }
        guard result[0].bool == true else { throw WebDriverError(.refused, "the script failed: \(text)") }
        return text
    }

    /// Runs `body` in a tab of its own, and comes back to the present one.
    func inNewTab(_ body: () async throws(WebDriverError) -> Void) async throws(WebDriverError) {
        let own = try await get("/window")
        let tab = try await post("/window/new", ["type": "tab"])
        var failure: WebDriverError?
        do throws(WebDriverError) {
            try await post("/window", ["handle": tab["handle"] ?? .null])
            try await body()
        } catch {
            failure = error
        }
        // In a task of its own, which nobody cancels: later commands would be for the wrong tab.
        let back = await Task { () -> WebDriverError? in
            // Where the switch failed, the present tab is still the one before, which stays.
            if (try? await post("/window", ["handle": tab["handle"] ?? .null])) != nil { try? await delete("/window") }
            do throws(WebDriverError) {
                try await post("/window", ["handle": own])
                return nil
            } catch {
                return error
            }
        }.value
        if let failure = failure ?? back { throw failure }
    }

    /// Runs `body`, and once more in another tab where the present one was closed: commands stay with the tab that they began
    /// with, whatever others are open.
    func inOpenTab<Value>(
        _ body: () async throws(WebDriverError) -> Value
    ) async throws(WebDriverError) -> Value {
        do throws(WebDriverError) {
            return try await body()
        } catch {
            guard error.message.hasPrefix("no such window"), let tab = try await get("/window/handles").array?.first
            else {
                throw error
            }
            try await post("/window", ["handle": tab])
            return try await body()
        }
    }

    /// Whether the browser has a window (§11.5); false where it has gone.
    func hasWindow() async -> Bool {
        do throws(WebDriverError) {
            return try await get("/window/handles").array?.isEmpty == false
        } catch {
            // A driver that is busy has a browser all the same.
            return error.code == .timedOut
        }
    }
}
