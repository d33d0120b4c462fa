// SPDX-License-Identifier: Apache-2.0

#if Redis
import BeelineTesting
import HTTPTypes
import NIOConcurrencyHelpers

/// An origin whose logins take a while. It counts them, and how many ran at the same time.
final class LoginOrigin: Sendable {
    private struct State {
        var logins: [Int: [Int32]] = [:]
        var running = 0
        var mostAtOnce = 0
    }

    private let server: LoopbackOrigin
    private let state: NIOLockedValueBox<State>

    init() async throws {
        let state = NIOLockedValueBox(State())
        self.state = state
        server = try await LoopbackOrigin.start { request in
            guard let number = request.query["number"].flatMap({ Int($0) }),
                let process = request.query["process"].flatMap({ Int32($0) })
            else { return Reply(status: .badRequest) }
            state.withLockedValue { state in
                state.logins[number, default: []].append(process)
                state.running += 1
                state.mostAtOnce = max(state.mostAtOnce, state.running)
            }
            defer { state.withLockedValue { $0.running -= 1 } }
            // Not a wait for an event: a login takes time, in which its process can be killed.
            try await Task.sleep(for: .milliseconds(20))
            return Reply(fields: [.setCookie: "session=\(number)"])
        }
    }

    var port: UInt16 { server.port }

    /// The processes that logged in, in order, by the number of the login.
    var logins: [Int: [Int32]] { state.withLockedValue { $0.logins } }

    /// The largest number of logins that ran at the same time.
    var mostAtOnce: Int { state.withLockedValue { $0.mostAtOnce } }

    /// Waits for a login with this number.
    func reaches(_ number: Int) async throws {
        try await eventually("login \(number)", within: .seconds(3_000)) { (self.logins.keys.max() ?? 0) >= number }
    }

    func stop() async { await server.stop() }
}
#endif
