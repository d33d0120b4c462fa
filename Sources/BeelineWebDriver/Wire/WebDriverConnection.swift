// SPDX-License-Identifier: Apache-2.0

import Beeline
import DirectHTTP
import HTTPDNS
import HTTPTypes
import NIOCore
import Names

/// A connection to a W3C WebDriver on this machine: JSON over HTTP (https://www.w3.org/TR/webdriver2/ §6).
final class WebDriverConnection: Sendable {
    /// The maximum size of an answer in bytes.
    private static let answerLimit = 64 << 20

    private let root: String
    private let client: BeelineClient

    /// - Parameters:
    ///   - port: the driver's port on 127.0.0.1.
    ///   - limit: the time limit for a command.
    init(port: UInt16, limit: Duration) throws(WebDriverError) {
        root = "http://127.0.0.1:\(port)"
        var configuration = ClientConfiguration()
        configuration.upstreams = []
        configuration.jar = nil
        configuration.proxies = .none
        configuration.limits.idle = limit
        configuration.limits.whole = limit
        do throws(UpstreamError) {
            client = try BeelineClient(configuration)
        } catch {
            throw WebDriverError(.cannotStart, error.message, underlyingError: error)
        }
    }

    /// Sends a command.
    ///
    /// - Returns: the member `value` of the answer.
    /// - Throws: ``WebDriverError``: `refused` with the driver's message, `timedOut`, or `ended` if the driver does not answer.
    @discardableResult
    func send(
        _ method: HTTPRequest.Method,
        _ path: String,
        _ parameters: JSONValue? = nil
    ) async throws(WebDriverError) -> JSONValue {
        // A POST without parameters has an empty object as its body (§6.3).
        let parameters = method == .post ? parameters ?? [:] : parameters
        var body = RequestBody.none
        if let parameters {
            body = .bytes(Array(parameters.text.utf8))
            body.contentType = "application/json; charset=utf-8"
        }
        let status: Int
        let answer: JSONValue?
        do throws(BeelineError) {
            let response = try await client.send(method, root + path, body: body)
            status = response.status.code
            answer = JSONValue(Array(try await response.collect(upTo: Self.answerLimit).readableBytesView), limit: .max)
        } catch {
            let isLate = error.code == .init(.deadlineExceeded) || error.code == .init(.idleTimeout)
            throw WebDriverError(isLate ? .timedOut : .ended, "the driver: \(error.message)", underlyingError: error)
        }
        guard let value = answer?["value"] else {
            throw WebDriverError(.refused, "the driver answered \(method) \(path) with \(status), and not in JSON")
        }
        guard (200..<300).contains(status) else { throw Self.failure(value) }
        return value
    }

    /// Makes an error from a driver's answer (§6.6).
    private static func failure(_ value: JSONValue) -> WebDriverError {
        let name = value["error"]?.string ?? "unknown error"
        let line = value["message"]?.string?.split(whereSeparator: \.isNewline).first.map(String.init) ?? ""
        let gone: Set = ["invalid session id", "no such window"]
        let code: WebDriverError.Code = gone.contains(name) ? .ended : name == "timeout" ? .timedOut : .refused
        return WebDriverError(
            code,
            line.isEmpty || line.hasPrefix(name) ? (line.isEmpty ? name : line) : "\(name): \(line)"
        )
    }

    /// Closes the connection, not the driver.
    func close() async { await client.shutDown() }
}
