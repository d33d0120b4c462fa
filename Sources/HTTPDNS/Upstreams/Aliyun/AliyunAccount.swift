// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers
import Names

/// An account of Aliyun's service: asks it, and keeps its addresses up to date.
final class AliyunAccount: Sendable {
    private struct State {
        var isOn = true
        var failures = 0
    }

    let clock: SigningClock
    private let id: String
    private let secret: String?
    private let settings: AliyunService
    /// The service at the addresses that it announced.
    private let service: UpstreamService
    /// The service at the configured addresses, which always gets the scheduling call.
    private let boot: UpstreamService
    private let state = NIOLockedValueBox(State())

    init(
        _ id: String,
        secret: String?,
        service settings: AliyunService,
        transport: any UpstreamTransport,
        clock: SigningClock
    ) {
        self.id = id
        self.secret = secret
        self.settings = settings
        self.clock = clock
        service = settings.connected(transport)
        boot = settings.connected(transport)
    }

    /// The account and the service's label, for the names of upstreams.
    var label: String { "\(id)@\(service.label)" }

    /// Asks the service and reads the JSON of its reply. Fails with code `unsupported` while the service reports that it
    /// is disabled.
    func ask<Result>(
        make: (inout UpstreamRequest) throws(UpstreamError) -> Void,
        read: (JSONValue) throws(UpstreamError) -> Result
    ) async throws(UpstreamError) -> Result {
        guard state.withLockedValue({ $0.isOn }) else {
            throw UpstreamError(.unsupported, "the service is disabled for this account")
        }
        return try await ask(service, make: make, read: read)
    }

    private func ask<Result>(
        _ service: UpstreamService,
        make: (inout UpstreamRequest) throws(UpstreamError) -> Void,
        read: (JSONValue) throws(UpstreamError) -> Result
    ) async throws(UpstreamError) -> Result {
        try await service.askSigned(
            clock: clock,
            make: make,
            read: { (reply) throws(UpstreamError) in
                let body = JSONValue(reply.body)
                if let error = AliyunError.error(in: reply, body: body) { throw error }
                try reply.requireSuccess(hasAccount: self.secret != nil && service.isAuthenticated)
                guard let body else { throw .unknownForm }
                return try read(body)
            }
        )
    }

    /// Fetches the service's addresses and uses them.
    ///
    /// - Returns: The time until the next call.
    func reschedule() async -> Duration {
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
            return AliyunSchedule.retry.doubled(failures - 1, upTo: AliyunSchedule.longestRetry)
        }
    }

    private func fetch() async throws(UpstreamError) -> AliyunSchedule {
        try await ask(
            boot,
            make: { (request) throws(UpstreamError) in
                request.target = AliyunSchedule.target(
                    account: self.id,
                    secret: self.secret,
                    region: self.settings.region,
                    nonce: Hex.encode((0..<8).map { _ in UInt8.random(in: .min ... .max) }),
                    time: self.clock.now
                )
                request.timeLimit = request.timeLimit ?? UpstreamService.scheduleLimit
            },
            read: { (body) throws(UpstreamError) in
                try AliyunSchedule(body, isSecure: self.settings.isSecure, securePort: self.settings.port ?? 443)
            }
        )
    }
}
