// SPDX-License-Identifier: Apache-2.0

import Beeline
import DirectHTTP
import HTTPDNS
import HTTPTypes
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import Names

/// A connection to the browser itself, with JSON over a WebSocket: WebDriver BiDi (https://www.w3.org/TR/webdriver-bidi/ §5),
/// or Chromium's DevTools protocol, which has the same format.
///
/// Answers may arrive in any order; the id assigns each to its command. Events without a waiter are ignored.
final class BrowserConnection: Sendable {
    private struct State {
        var next = 1
        var waiters: [Int: EventLoopPromise<JSONValue>] = [:]
        /// The predicates of waiters that wait for an event.
        var awaited: [Int: @Sendable (JSONValue) -> Bool] = [:]
        /// Whether a hint arrived while no caller waited for it.
        var hasHint = false
        var isOpen = true

        /// - Returns: the id of the waiter.
        mutating func add(
            _ waiter: EventLoopPromise<JSONValue>,
            _ event: (@Sendable (JSONValue) -> Bool)?
        ) -> Int {
            defer { next += 1 }
            waiters[next] = waiter
            awaited[next] = event
            return next
        }
    }

    private let client: BeelineClient
    private let socket: WebSocket
    private let limit: Duration
    private let isHint: @Sendable (JSONValue) -> Bool
    /// Guards the waiters.
    private let state = NIOLockedValueBox(State())
    /// The task that reads answers. It ends with ``close()`` or the socket.
    private let reader = NIOLockedValueBox<Task<Void, Never>?>(nil)

    /// Opens a connection.
    ///
    /// - Parameters:
    ///   - url: for example `ws://127.0.0.1:PORT/session`.
    ///   - origin: the Origin of the handshake, which the browser must allow; nil sends none.
    ///   - limit: the time limit for a command.
    ///   - isHint: whether ``waitForHint(within:)`` waits for an event.
    init(
        to url: String,
        origin: String?,
        limit: Duration,
        isHint: @escaping @Sendable (JSONValue) -> Bool
    ) async throws(WebDriverError) {
        self.limit = limit
        self.isHint = isHint
        var configuration = ClientConfiguration()
        configuration.upstreams = []
        configuration.jar = nil
        configuration.proxies = .none
        var settings = WebSocketSettings()
        settings.maximumMessageBytes = 64 << 20
        settings.offersCompression = false
        let fields: HTTPFields = origin.map { [.origin: $0] } ?? [:]
        do {
            client = try BeelineClient(configuration)
        } catch {
            throw Self.unreachable(url, error)
        }
        do {
            socket = try await client.webSocket(url, fields: fields, settings: settings)
        } catch {
            await client.shutDown()
            throw Self.unreachable(url, error)
        }
        reader.withLockedValue { $0 = Task { [weak self, socket] in await Self.read(socket) { self?.received($0) } } }
    }

    /// Whether the connection is open.
    var isOpen: Bool { state.withLockedValue { $0.isOpen } }

    /// Sends a command.
    ///
    /// - Parameter event: whether an event counts as the answer; its parameters are then the result.
    /// - Returns: the member `result` of the answer.
    /// - Throws: ``WebDriverError``: `refused` with the browser's message, `timedOut`, `ended`.
    @discardableResult
    func send(
        _ method: String,
        _ parameters: JSONValue = [:],
        or event: (@Sendable (JSONValue) -> Bool)? = nil
    ) async throws(WebDriverError) -> JSONValue {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let answer = loop.makePromise(of: JSONValue.self)
        let number = state.withLockedValue { $0.isOpen ? $0.add(answer, event) : nil }
        guard let number else {
            answer.fail(Self.gone)
            throw Self.gone
        }
        let late = WebDriverError(.timedOut, "\(method): the browser took more than \(limit)")
        let timer = loop.scheduleTask(in: TimeAmount(limit)) { [self] in settle(number, .failure(late)) }
        defer { timer.cancel() }
        let text = JSONValue.object(["id": .number(number), "method": .string(method), "params": parameters]).text
        do {
            return try await withTaskCancellationHandler {
                // Send concurrently, so that a browser that does not read cannot delay the timeout.
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { [self, socket] in
                        do { try await socket.send(text) } catch { settle(number, .failure(Self.gone)) }
                    }
                    defer { group.cancelAll() }
                    return try await answer.futureResult.get()
                }
            } onCancel: {
                settle(number, .failure(WebDriverError(.ended, "\(method) was cancelled")))
            }
        } catch {
            throw error as? WebDriverError ?? Self.gone
        }
    }

    /// Returns when a hint has arrived since the last call, when the browser has closed, on cancellation, or after `limit`.
    func waitForHint(within limit: Duration) async {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let answer = loop.makePromise(of: JSONValue.self)
        let number = state.withLockedValue { state -> Int? in
            defer { state.hasHint = false }
            guard state.isOpen, !state.hasHint else { return nil }
            return state.add(answer, isHint)
        }
        guard let number else { return answer.succeed(.null) }
        let timer = loop.scheduleTask(in: TimeAmount(limit)) { [self] in settle(number, .success(.null)) }
        defer { timer.cancel() }
        await withTaskCancellationHandler {
            _ = try? await answer.futureResult.get()
        } onCancel: {
            settle(number, .success(.null))
        }
    }

    private static func unreachable(_ url: String, _ error: any Error) -> WebDriverError {
        WebDriverError(.cannotStart, "the browser at \(url): \(error)", underlyingError: error)
    }

    private static let gone = WebDriverError(.ended, "the browser has been closed")

    private func settle(_ number: Int, _ result: Result<JSONValue, WebDriverError>) {
        let waiter = state.withLockedValue { state in
            state.awaited[number] = nil
            return state.waiters.removeValue(forKey: number)
        }
        switch result {
        case .success(let value): waiter?.succeed(value)
        case .failure(let error): waiter?.fail(error)
        }
    }

    private func received(_ message: WebSocketMessage?) {
        guard let message else {
            let waiters = state.withLockedValue { state in
                defer { (state.waiters, state.awaited) = ([:], [:]) }
                state.isOpen = false
                return state.waiters
            }
            for waiter in waiters.values { waiter.fail(Self.gone) }
            return
        }
        guard case .text(let text) = message, let value = JSONValue(Array(text.utf8), limit: .max) else { return }
        guard let number = value["id"]?.integer.flatMap({ Int(exactly: $0) }) else {
            return tell(value)
        }
        if let result = value["result"] { return settle(number, .success(result)) }
        // BiDi has a name and a message, DevTools an object with a message.
        let words = [value["error"]?.string, (value["error"]?["message"] ?? value["message"])?.string].compactMap(
            \.self
        )
        let line = words.joined(separator: ": ").split(whereSeparator: \.isNewline).first ?? "unknown error"
        let code: WebDriverError.Code = words.first == "no such frame" ? .ended : .refused
        settle(number, .failure(WebDriverError(code, String(line))))
    }

    private func tell(_ value: JSONValue) {
        let waiters = state.withLockedValue { state in
            let waiters = state.awaited.filter { $0.value(value) }.keys
            if waiters.isEmpty, isHint(value) { state.hasHint = true }
            return waiters
        }
        for waiter in waiters { settle(waiter, .success(value["params"] ?? .null)) }
    }

    private static func read(_ socket: WebSocket, _ tell: (WebSocketMessage?) -> Void) async {
        while let message = try? await socket.receive() { tell(message) }
        tell(nil)
    }

    /// Closes the connection, not the browser.
    func close() async {
        await socket.close()
        let task = reader.withLockedValue { $0 }
        task?.cancel()
        await task?.value
        await client.shutDown()
    }
}
