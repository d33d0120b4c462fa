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
