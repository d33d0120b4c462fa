// SPDX-License-Identifier: Apache-2.0

import Beeline
import DirectHTTP
import HTTPDNS
import HTTPTypes
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import Names

/// Commands to a browser that speaks WebDriver BiDi: JSON over a WebSocket (https://www.w3.org/TR/webdriver-bidi/ §5).
///
/// Answers come in any order; each finds its command by its number. Events are passed over.
final class BiDiConnection: Sendable {
    private struct State {
        var next = 1
        var waiters: [Int: EventLoopPromise<JSONValue>] = [:]
        var isOpen = true
    }

    private let client: BeelineClient
    private let socket: WebSocket
    private let limit: Duration
    /// Guards who waits for which answer.
    private let state = NIOLockedValueBox(State())
    /// Reads answers; ended by ``close()`` and with the socket.
    private let reader = NIOLockedValueBox<Task<Void, Never>?>(nil)

    /// Opens a connection.
    ///
    /// - Parameters:
    ///   - url: `ws://127.0.0.1:PORT/session`.
    ///   - origin: what the handshake says to come from; the browser must have been told to take it.
    ///   - limit: how long a command may take.
    init(to url: String, origin: String, limit: Duration) async throws(WebDriverError) {
        self.limit = limit
        var configuration = ClientConfiguration()
        configuration.upstreams = []
        configuration.jar = nil
        configuration.proxies = .none
        var settings = WebSocketSettings()
        settings.maximumMessageBytes = 64 << 20
        settings.offersCompression = false
        do {
            client = try BeelineClient(configuration)
            socket = try await client.webSocket(url, fields: [.origin: origin], settings: settings)
        } catch {
            throw WebDriverError(
                .cannotStart,
                "the browser's WebDriver BiDi at \(url): \(error)",
                underlyingError: error
            )
        }
        reader.withLockedValue { $0 = Task { [weak self, socket] in await Self.read(socket) { self?.received($0) } } }
    }

    /// Whether the browser is there.
    var isOpen: Bool { state.withLockedValue { $0.isOpen } }

    /// Sends a command.
    ///
    /// - Returns: the member `result` of the answer.
    /// - Throws: ``WebDriverError``: `refused` with the browser's own words, `timedOut`, `ended`.
    @discardableResult
    func send(_ method: String, _ parameters: JSONValue = [:]) async throws(WebDriverError) -> JSONValue {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let answer = loop.makePromise(of: JSONValue.self)
        let number = state.withLockedValue { state -> Int? in
            guard state.isOpen else { return nil }
            defer { state.next += 1 }
            state.waiters[state.next] = answer
            return state.next
        }
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
                do { try await socket.send(text) } catch { settle(number, .failure(Self.gone)) }
                return try await answer.futureResult.get()
            } onCancel: {
                settle(number, .failure(WebDriverError(.ended, "\(method) was cancelled")))
            }
        } catch {
            throw error as? WebDriverError ?? Self.gone
        }
    }

    private static let gone = WebDriverError(.ended, "the browser has been closed")

    private func settle(_ number: Int, _ result: Result<JSONValue, WebDriverError>) {
        let waiter = state.withLockedValue { $0.waiters.removeValue(forKey: number) }
        switch result {
        case .success(let value): waiter?.succeed(value)
        case .failure(let error): waiter?.fail(error)
        }
    }

    private func received(_ message: WebSocketMessage?) {
        guard let message else {
            let waiters = state.withLockedValue { state in
                defer { state.waiters = [:] }
                state.isOpen = false
                return state.waiters
            }
            for waiter in waiters.values { waiter.fail(Self.gone) }
            return
        }
        guard case .text(let text) = message, let value = JSONValue(Array(text.utf8)),
            let number = value["id"]?.integer.flatMap({ Int(exactly: $0) })
        else { return }
        if let result = value["result"] { return settle(number, .success(result)) }
        let words = [value["error"]?.string, value["message"]?.string].compactMap(\.self)
        let line = words.joined(separator: ": ").split(whereSeparator: \.isNewline).first ?? "unknown error"
        let code: WebDriverError.Code = words.first == "no such frame" ? .ended : .refused
        settle(number, .failure(WebDriverError(code, String(line))))
    }

    private static func read(_ socket: WebSocket, _ tell: (WebSocketMessage?) -> Void) async {
        while let message = try? await socket.receive() { tell(message) }
        tell(nil)
    }

    /// Ends the connection, not the browser.
    func close() async {
        await socket.close()
        let task = reader.withLockedValue { $0 }
        task?.cancel()
        await task?.value
        await client.shutDown()
    }
}
