// SPDX-License-Identifier: Apache-2.0

import Names

/// The state machine of one caller that waits for the endpoints of an origin. It collects the addresses, the HTTPS
/// records, and the addresses of the records' targets (Happy Eyeballs v3, draft-ietf-happy-happyeyeballs-v3 §4).
///
/// The caller gets a result when everything has arrived, or when the resolution delay after the first usable address is
/// over. If all routes have ECH, an address is usable only if a route leads to it. A connection to another address
/// would reveal the name.
///
/// A failed lookup of the records has no effect. RFC 9460 §3.1 recommends to give up if the question was protected
/// (DoH) and failed, because the failure may be an attack. But many resolvers and middleboxes answer only A and AAAA,
/// and a new client does not know whether there are records. The site would become unreachable for a protection that it
/// may not even offer. TLS still verifies the certificate.
struct OriginSchedule {
    /// The maximum number of targets whose addresses are looked up for one origin.
    static let maxTargets = 4
    /// How long to wait for the records if the origin has no address of its own. An alias in them may lead to one.
    static let delayWithoutAddress = Duration.milliseconds(500)

    /// An input of the state machine.
    enum Event {
        /// The origin's own addresses arrived, or there are none. `isFinal`: records cannot help, for example because
        /// the name does not exist, or because the addresses are from a table.
        case addresses(areUsable: Bool, isFinal: Bool)
        /// The routes of the records; empty if there are none.
        case services([ServiceRoute])
        /// The addresses of a target arrived, or there are none.
        case target(Host, isUsable: Bool)
        /// All data that is known now has been passed.
        case settled
        /// Time has passed.
        case tick
    }

    /// An output of the state machine.
    enum Action: Equatable {
        /// Look up the addresses of a target.
        case lookUp(Host)
        /// Give the caller the results that have arrived.
        case deliver
    }

    private let delay: Duration
    /// When the caller gets the results at the latest.
    private let end: Moment
    private var hasAddresses = false
    private var hasOwnAddress = false
    private var hasServices = false
    private var routes: [ServiceRoute] = []
    /// The targets with pending address lookups.
    private var awaited: [Host] = []
    private var usableTargets: [Host] = []
    private var isOver = false
    /// The end of the delay after the first address.
    private var delayEnd = Moment.never

    /// - Parameters:
    ///   - delay: How long to wait for the rest after the first usable address.
    ///   - limit: The time limit for everything.
    init(delay: Duration, limit: Duration, now: Moment) {
        self.delay = delay
        end = now + limit
    }

    /// When the caller gets the results.
    var deadline: Moment {
        if isOver { return .never }
        return routes.requireECH && !isRouteKnown ? end : min(delayEnd, end)
    }

    /// Handles an event.
    mutating func event(_ event: Event, now: Moment) -> [Action] {
        guard !isOver else { return [] }
        var actions: [Action] = []
        switch event {
        case .addresses(let areUsable, let isFinal):
            hasAddresses = true
            hasOwnAddress = areUsable
            if areUsable {
                startDelay(now: now)
            } else if isFinal {
                return deliver()
            } else if !hasServices, delayEnd == .never {
                delayEnd = now + max(delay, Self.delayWithoutAddress)
            }
        case .services(let found):
            // Addresses of targets may follow.
            if !hasOwnAddress { delayEnd = .never }
            hasServices = true
            routes = found
            if found.contains(where: { !$0.hints.isEmpty }) { startDelay(now: now) }
            for target in found.compactMap(\.target) where !awaited.contains(target) {
                guard awaited.count < Self.maxTargets else { break }
                awaited.append(target)
                actions.append(.lookUp(target))
            }
        case .target(let host, let isUsable):
            awaited.removeAll { $0 == host }
            if isUsable {
                usableTargets.append(host)
                startDelay(now: now)
            }
        case .settled:
            return hasAddresses && hasServices && (awaited.isEmpty || isFirstRouteKnown) ? deliver() : []
        case .tick:
            return deadline <= now ? deliver() : []
        }
        return actions
    }

    /// Whether the addresses of the first route are known, so that a connection need not wait for others.
    private var isFirstRouteKnown: Bool {
        guard let first = routes.first else { return true }
        return first.target.map(usableTargets.contains) ?? true
    }

    /// Whether the address of any route is known.
    private var isRouteKnown: Bool {
        routes.contains { route in
            !route.hints.isEmpty || route.target.map(usableTargets.contains) ?? hasOwnAddress
        }
    }

    private mutating func startDelay(now: Moment) { delayEnd = min(delayEnd, now + delay) }

    private mutating func deliver() -> [Action] {
        isOver = true
        return [.deliver]
    }
}
