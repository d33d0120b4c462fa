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
        var waiters: [Int: EventLoopPromise<BrowserMessage?>] = [:]
        /// The predicates of waiters that wait for an event.
        var awaited: [Int: @Sendable (BrowserMessage) -> Bool] = [:]
        /// The hints that arrived while no caller waited for them.
        var hints: Set<BrowserHint> = []
        var isOpen = true

        /// - Returns: the id of the waiter.
        mutating func add(
            _ waiter: EventLoopPromise<BrowserMessage?>,
            _ event: (@Sendable (BrowserMessage) -> Bool)?
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
    private let hint: @Sendable (BrowserMessage) -> BrowserHint?
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
    ///   - hint: the meaning of an event for ``waitForHint(after:within:)``; nil for none.
    init(
        to url: String,
        origin: String?,
        limit: Duration,
        hint: @escaping @Sendable (BrowserMessage) -> BrowserHint?
    ) async throws(WebDriverError) {
        self.limit = limit
        self.hint = hint
        var configuration = ClientConfiguration()
        configuration.upstreams = []
        configuration.proxies = .none
        var settings = WebSocketSettings()
        settings.maxMessageBytes = 64 << 20
        settings.offersCompression = false
        // A hanging browser must not delay the close.
        settings.closeTimeout = .seconds(1)
        let fields: HTTPFields = origin.map { [.origin: $0] } ?? [:]
        do {
            client = try BeelineClient(configuration, jar: nil)
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
    /// - Parameters:
    ///   - type: the type of the member `result` of the answer.
    ///   - event: whether an event counts as the answer; its parameters are then the result.
    /// - Throws: ``WebDriverError``: `refused` with the browser's message, `timedOut`, `ended`.
    @discardableResult
    func send<Value: Decodable & Sendable>(
        _ method: String,
        _ parameters: JSONValue = [:],
        as type: Value.Type = JSONValue.self,
        or event: (@Sendable (BrowserMessage) -> Bool)? = nil
    ) async throws(WebDriverError) -> Value {
        let message = try await answer(to: method, parameters, or: event)
        if message.id == nil, let value = message.parameters(as: type) { return value }
        return try message.result(of: method, as: type)
    }

    private func answer(
        to method: String,
        _ parameters: JSONValue,
        or event: (@Sendable (BrowserMessage) -> Bool)?
    ) async throws(WebDriverError) -> BrowserMessage {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let answer = loop.makePromise(of: BrowserMessage?.self)
        let number = state.withLockedValue { $0.isOpen ? $0.add(answer, event) : nil }
        guard let number else {
            answer.fail(Self.gone)
            throw Self.gone
        }
        let late = WebDriverError(.timedOut, "\(method): the browser took more than \(limit)")
        let timer = loop.scheduleTask(in: TimeAmount(limit: limit)) { [self] in settle(number, .failure(late)) }
        defer { timer.cancel() }
        let text = JSONValue.object(["id": .number(number), "method": .string(method), "params": parameters]).text
        do {
            let message = try await withTaskCancellationHandler {
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
            guard let message else { throw Self.gone }
            return message
        } catch {
            throw error as? WebDriverError ?? Self.gone
        }
    }

    /// Returns at the hint ``BrowserHint/closing``, at ``BrowserHint/cookies`` but not before `pause`, when the browser has
    /// closed, on cancellation, or after `limit`. A hint since the last call counts too.
    func waitForHint(after pause: Duration, within limit: Duration) async {
        if await wait(for: [.closing], within: pause) { return }
        _ = await wait(for: [.closing, .cookies], within: max(limit.asWait - pause.asWait, .zero))
    }

    /// Returns whether one of the hints arrived or the connection is closed, within a time.
    private func wait(for hints: Set<BrowserHint>, within limit: Duration) async -> Bool {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let answer = loop.makePromise(of: BrowserMessage?.self)
        let number = state.withLockedValue { state -> Int? in
            let found = state.hints.intersection(hints)
            state.hints.subtract(found)
            guard state.isOpen, found.isEmpty else { return nil }
            return state.add(answer) { [hint] in hint($0).map(hints.contains) ?? false }
        }
        guard let number else {
            answer.succeed(nil)
            return true
        }
        let timer = loop.scheduleTask(in: TimeAmount(limit: limit)) { [self] in settle(number, .success(nil)) }
        defer { timer.cancel() }
        return await withTaskCancellationHandler {
            do { return try await answer.futureResult.get() != nil } catch { return true }
        } onCancel: {
            settle(number, .failure(Self.gone))
        }
    }

    private static func unreachable(_ url: String, _ error: any Error) -> WebDriverError {
        WebDriverError(.cannotStart, "the browser at \(url): \(error)", underlyingError: error)
    }

    private static let gone = WebDriverError(.ended, "the browser has been closed")

    private func settle(_ number: Int, _ result: Result<BrowserMessage?, WebDriverError>) {
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
        guard case .text(let text) = message, let message = BrowserMessage(text) else { return }
        if let number = message.id { settle(number, .success(message)) } else { tell(message) }
    }

    private func tell(_ event: BrowserMessage) {
        let waiters = state.withLockedValue { state in
            let waiters = state.awaited.filter { $0.value(event) }.keys
            if waiters.isEmpty, let hint = hint(event) { state.hints.insert(hint) }
            return waiters
        }
        for waiter in waiters { settle(waiter, .success(event)) }
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
