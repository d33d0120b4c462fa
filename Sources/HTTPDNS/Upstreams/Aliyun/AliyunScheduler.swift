// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers
import Names

/// Keeps the addresses of an Aliyun upstream up to date.
final class AliyunScheduler: Sendable {
    private struct State {
        var isOn = true
        var failures = 0
    }

    private let account: String
    private let secret: String?
    private let place: AliyunService
    /// The service at the configured addresses, which always gets the scheduling call.
    private let boot: UpstreamService
    private let clock: SigningClock
    private let state = NIOLockedValueBox(State())

    init(
        account: String,
        secret: String?,
        service place: AliyunService,
        transport: any UpstreamTransport,
        clock: SigningClock
    ) {
        self.account = account
        self.secret = secret
        self.place = place
        self.clock = clock
        boot = place.connected(transport)
    }

    /// Throws while the service reports that it is disabled.
    func requireService() throws(UpstreamError) {
        guard state.withLockedValue({ $0.isOn }) else {
            throw UpstreamError(.unsupported, "the service is disabled for this account")
        }
    }

    /// Fetches the service's addresses and sets them in `service`.
    ///
    /// - Returns: The time until the next call.
    func reschedule(_ service: UpstreamService) async -> Duration {
        do throws(UpstreamError) {
            let schedule = try await fetch()
            service.use(schedule.endpoints)
            state.withLockedValue { $0 = State(isOn: schedule.isEnabled) }
            return AliyunSchedule.interval
        } catch {
            let failures = state.withLockedValue { state in
                state.failures += 1
                return state.failures
            }
            return min(AliyunSchedule.retry * (1 << min(failures - 1, 10)), AliyunSchedule.longestRetry)
        }
    }

    private func fetch() async throws(UpstreamError) -> AliyunSchedule {
        try await boot.askSigned(
            clock: clock,
            make: { (request) throws(UpstreamError) in
                request.target = AliyunSchedule.target(
                    account: self.account,
                    secret: self.secret,
                    region: self.place.region,
                    nonce: Hex.encode((0..<8).map { _ in UInt8.random(in: .min ... .max) }),
                    time: self.clock.now
                )
                request.timeLimit = request.timeLimit ?? UpstreamService.scheduleLimit
            },
            read: { (reply) throws(UpstreamError) in
                let body = JSONValue(reply.body)
                if let error = AliyunError.error(in: reply, body: body) { throw error }
                try reply.requireSuccess(hasAccount: self.secret != nil && self.boot.isAuthenticated)
                guard let body else { throw AliyunAnswer.malformed }
                return try AliyunSchedule(body, isSecure: self.place.isSecure, securePort: self.place.port ?? 443)
            }
        )
    }
}
