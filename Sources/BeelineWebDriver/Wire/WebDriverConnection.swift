// SPDX-License-Identifier: Apache-2.0

import Beeline
import DirectHTTP
import HTTPDNS
import HTTPTypes
import NIOCore
import Names

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A connection to a W3C WebDriver on this machine: JSON over HTTP (https://www.w3.org/TR/webdriver2/ §6).
final class WebDriverConnection: Sendable {
    /// The maximum size of an answer in bytes.
    private static let answerLimit = 64 << 20

    private let root: String
    private let client: BeelineClient

    /// - Parameters:
    ///   - port: the driver's port on 127.0.0.1.
    ///   - limit: the default time limit for a command.
    init(port: UInt16, limit: Duration) throws(WebDriverError) {
        root = "http://127.0.0.1:\(port)"
        var configuration = ClientConfiguration()
        configuration.upstreams = []
        configuration.proxies = .none
        configuration.limits = Self.limits(limit)
        do throws(UpstreamError) {
            client = try BeelineClient(configuration, jar: nil)
        } catch {
            throw WebDriverError(.cannotStart, error.message, underlyingError: error)
        }
    }

    private static func limits(_ limit: Duration) -> TimeLimits {
        var limits = TimeLimits()
        limits.idle = limit
        limits.total = limit
        return limits
    }

    /// Sends a command.
    ///
    /// - Parameters:
    ///   - type: the type of the member `value` of the answer.
    ///   - limit: the time limit; nil uses the default.
    /// - Throws: ``WebDriverError``: `refused` with the driver's message, `timedOut`, or `ended` if the driver does not answer.
    @discardableResult
    func send<Value: Decodable>(
        _ method: HTTPRequest.Method,
        path: String,
        parameters: JSONValue? = nil,
        as type: Value.Type = JSONValue.self,
        within limit: Duration? = nil
    ) async throws(WebDriverError) -> Value {
        // A POST without parameters has an empty object as its body (§6.3).
        let parameters = method == .post ? parameters ?? [:] : parameters
        var body = RequestBody.none
        if let parameters {
            body = .bytes(Array(parameters.text.utf8))
            body.contentType = "application/json; charset=utf-8"
        }
        var options = RequestOptions()
        options.limits = limit.map(Self.limits)
        let status: Int
        let octets: Data
        do throws(BeelineError) {
            let response = try await client.send(method, root + path, body: body, options: options)
            status = response.status.code
            octets = Data(try await response.collect(upTo: Self.answerLimit).readableBytesView)
        } catch {
            let isLate = error.code == .deadlineExceeded || error.code == .idleTimeout
            throw WebDriverError(isLate ? .timedOut : .ended, "the driver: \(error.message)", underlyingError: error)
        }
        let isSuccess = (200..<300).contains(status)
        if isSuccess, let answer = try? JSONDecoder().decode(Answer<Value>.self, from: octets) { return answer.value }
        guard let answer = try? JSONDecoder().decode(Answer<JSONValue>.self, from: octets) else {
            throw WebDriverError(.refused, "the driver answered \(method) \(path) with \(status), and not in JSON")
        }
        guard isSuccess else { throw Self.failure(answer.value) }
        let what = "the driver's answer to \(method) \(path) has an unknown form"
        throw WebDriverError(.refused, "\(what); \(DriverCookie.remedy)")
    }

    private struct Answer<Value: Decodable>: Decodable { let value: Value }

    /// Makes an error from a driver's answer (§6.6).
    private static func failure(_ value: JSONValue) -> WebDriverError {
        let name = value["error"]?.string ?? "unknown error"
        let line = value["message"]?.string?.split(whereSeparator: \.isNewline).first.map(String.init) ?? ""
        let code: WebDriverError.Code =
            switch name {
            case "invalid session id", "no such window": .ended
            case "timeout": .timedOut
            default: .refused
            }
        if line.isEmpty { return WebDriverError(code, name) }
        return WebDriverError(code, line.hasPrefix(name) ? line : "\(name): \(line)")
    }

    /// Closes the connection, not the driver.
    func close() async { await client.shutDown() }
}
