// SPDX-License-Identifier: Apache-2.0

#if Redis
import CookieJar

/// Acquires, renews and releases the lease of one login.
struct LoginLease: Sendable {
    /// The result of an attempt to take the lease.
    enum Outcome: Sendable {
        /// This process has the lease until a time of its own clock, unless it renews it. Contains the serial number of
        /// the jar's last change before that.
        case taken(JarWriter.Lease, until: ContinuousClock.Instant, serial: Int64)
        /// Another process has the lease for at most this long, unless it renews it.
        case held(Duration)
    }

    let context: JarContext
    let label: String

    private static let limits = RedisReplyReader.Limits(octets: 1_024, elements: 3)

    private var life: Duration { context.configuration.boundedLeaseLifetime }

    /// Takes the lease if it is free.
    func acquire(in session: RedisSession) throws(RedisFault) -> Outcome {
        // Read the clock before the request, so that the lease never lasts longer for this process than for the server.
        let end = ContinuousClock.now + life
        let token = "\(UInt64.random(in: 0 ... .max))-\(UInt64.random(in: 0 ... .max))"
        let reply = try LeaseScripts.acquire.run(
            in: session,
            keys: context.keys.lease(label) + [context.keys.state],
            arguments: [token, "\(life.milliseconds)", "\(context.configuration.idleLifetime.milliseconds)"]
                .map { Array($0.utf8) },
            limits: Self.limits
        )
        guard let values = reply.elements, values.count == 3, let fence = values[0].number,
            let left = values[1].number, let serial = values[2].number
        else { throw RedisScript.malformedReply }
        guard fence > 0 else { return .held(.milliseconds(max(left, 0))) }
        return .taken(
            JarWriter.Lease(label: label, value: "\(fence):\(token)", fence: fence),
            until: end,
            serial: serial
        )
    }

    /// Renews a lease. Returns its new end by this process's clock; nil if it is not valid any more.
    func renew(_ lease: JarWriter.Lease, in session: RedisSession) throws(RedisFault) -> ContinuousClock.Instant? {
        let end = ContinuousClock.now + life
        let reply = try LeaseScripts.renew.run(
            in: session,
            keys: [context.keys.lease(label)[0]],
            arguments: [lease.value, "\(life.milliseconds)"].map { Array($0.utf8) },
            limits: Self.limits
        )
        return reply.number == 1 ? end : nil
    }

    /// Releases a lease. Errors are ignored, because the lease ends by itself.
    func release(_ lease: JarWriter.Lease, in session: RedisSession) {
        _ = try? LeaseScripts.release.run(
            in: session,
            keys: [context.keys.lease(label)[0]],
            arguments: [Array(lease.value.utf8)],
            limits: Self.limits
        )
    }
}
#endif
