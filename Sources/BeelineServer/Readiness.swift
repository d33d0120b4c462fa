// SPDX-License-Identifier: Apache-2.0

/// Whether a load balancer should send clients to a server. `/ready` answers 200 for ``ready`` and 503 for the others, with
/// ``description`` as its text.
public struct Readiness: Hashable, Sendable, CustomStringConvertible {
    /// `ok` or the reason.
    public let description: String

    /// The server answers.
    public static let ready = Readiness(description: "ok")
    /// ``HTTPDNSServer/start()`` has not returned yet.
    public static let starting = Readiness(description: "starting")
    /// ``HTTPDNSServer/stop()`` was called.
    public static let draining = Readiness(description: "draining")
    /// All upstreams are down and the server has no zone. Each request for `/ready` may probe an upstream, so that the server
    /// becomes ready again without clients.
    public static let noUpstream = Readiness(description: "no upstream answers")
}
