// SPDX-License-Identifier: Apache-2.0

import HTTPDNS
import HTTPTypes

/// Commands that are the same in every W3C WebDriver.
extension DriverSession {
    /// Sends a GET command of the session.
    func get<Value: Decodable>(
        _ command: String,
        as type: Value.Type = JSONValue.self
    ) async throws(WebDriverError) -> Value {
        try checkProcess()
        return try await connection.send(.get, path: path + command, as: type)
    }

    /// Sends a POST command of the session.
    @discardableResult
    func post(_ command: String, _ parameters: JSONValue) async throws(WebDriverError) -> JSONValue {
        try checkProcess()
        return try await connection.send(.post, path: path + command, parameters: parameters)
    }

    /// Sends a DELETE command of the session.
    func delete(_ command: String) async throws(WebDriverError) {
        try checkProcess()
        try await connection.send(.delete, path: path + command)
    }

    /// Throws if the driver has ended, because another program may use its port then.
    private func checkProcess() throws(WebDriverError) {
        if let status = process.status { throw WebDriverError(.ended, "the driver ended with \(status)") }
    }

    func navigate(to url: String) async throws(WebDriverError) {
        try await post("/url", ["url": .string(url)])
    }

    func evaluate(_ expression: String) async throws(WebDriverError) -> String {
        // Return the result as text, to preserve numbers and nesting exactly.
        let script = """
            const done = arguments[arguments.length - 1];
            Promise.resolve().then(() => (\(expression)))
                .then(value => done([true, JSON.stringify(value === undefined ? null : value)]),
                      error => done([false, String(error)]));
            """
        let body: JSONValue = ["script": .string(script), "args": []]
        let result = try await post("/execute/async", body).array ?? []
        guard result.count == 2, let text = result[1].string else {
            throw WebDriverError(.refused, "the script's result is not JSON")
        }
        guard result[0].bool == true else { throw WebDriverError(.refused, "the script failed: \(text)") }
        return text
    }

    /// Runs `body` in a new tab and returns to the current one.
    func inNewTab(_ body: () async throws(WebDriverError) -> Void) async throws(WebDriverError) {
        let own = try await get("/window")
        // If this stopped halfway, the tab's handle would be lost and the tab could not be closed.
        let tab = try await undisturbed { () async throws(WebDriverError) in
            try await post("/window/new", ["type": "tab"])
        }
        var failure: WebDriverError?
        do throws(WebDriverError) {
            try await post("/window", ["handle": tab["handle"] ?? .null])
            try await body()
        } catch {
            failure = error
        }
        // If the switch back were skipped, later commands would go to the wrong tab.
        do throws(WebDriverError) {
            try await undisturbed { () async throws(WebDriverError) in
                // If the switch failed, the old tab is still current and must not be closed.
                if (try? await post("/window", ["handle": tab["handle"] ?? .null])) != nil {
                    try? await delete("/window")
                }
                try await post("/window", ["handle": own])
            }
        } catch {
            throw failure ?? error
        }
        if let failure { throw failure }
    }

    /// Runs `body`, and retries it in another tab if the current one was closed. The driver does not switch tabs by itself.
    func inOpenTab<Value>(_ body: () async throws(WebDriverError) -> Value) async throws(WebDriverError) -> Value {
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

    /// Whether the browser has a window (§11.5); false if it has ended.
    func hasWindow() async -> Bool {
        do throws(WebDriverError) {
            return try await get("/window/handles").array?.isEmpty == false
        } catch {
            // A driver that is busy or refuses the command still runs, and so does the browser.
            return error.code != .ended
        }
    }
}
