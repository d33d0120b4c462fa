// SPDX-License-Identifier: Apache-2.0

import CookieJar

/// Decides which requests to repeat until a store shows the requested cookies: stores answer before a change is visible, and
/// some never make it.
///
/// If other code changes a cookie meanwhile, that change is newer and stays.
struct CookieDelivery {
    /// The next requests to a store.
    struct Steps {
        var set: [Cookie] = []
        var delete: [Cookie] = []

        var isEmpty: Bool { self.set.isEmpty && self.delete.isEmpty }
    }

    private struct Order {
        let cookie: Cookie
        /// The content that the store must show; `nil` for a deletion.
        let goal: CookieContent?
        /// The content before the change; `nil` before the first look.
        var base: CookieContent??
        /// The content that the store made of the cookie, if it differs from the goal.
        var altered: CookieContent?
        /// The number of looks at which the store showed an altered cookie.
        var alterations = 0
    }

    /// A cookie that the store refused, altered or did not show in time.
    struct Failure {
        let cookie: Cookie
        let error: WebViewError
    }

    /// How often a store may show an altered cookie before the order fails.
    private static let alterationLimit = 5

    /// The pending orders, in the order of the requests.
    private var orders: [Order]
    /// The orders that failed.
    private(set) var failures: [Failure] = []

    /// The number of pending orders.
    var count: Int { orders.count }

    /// Creates a delivery.
    ///
    /// - Parameters:
    ///   - cookies: The cookies to set, each with the version that the store keeps.
    ///   - deletions: The cookies to delete.
    ///   - seen: The known cookies of the store; a different cookie counts as a newer change. `nil` uses the result of the
    ///     first look.
    init(
        set cookies: [(cookie: Cookie, kept: Cookie)] = [],
        delete deletions: [Cookie] = [],
        seen: [CookiePlace: Cookie]? = nil
    ) {
        let base = { (cookie: Cookie) in seen.map { $0[CookiePlace(cookie)].map(CookieContent.init) } }
        orders =
            cookies.map { Order(cookie: $0.cookie, goal: CookieContent($0.kept), base: base($0.cookie)) }
            + deletions.map { Order(cookie: $0, goal: nil, base: base($0)) }
    }

    /// Updates the orders from the store's cookies.
    ///
    /// - Returns: The requests to make or repeat.
    mutating func look(_ shown: [Cookie]) -> Steps {
        let contents = Dictionary(shown.map { (CookiePlace($0), CookieContent($0)) }) { _, last in last }
        orders = orders.compactMap { order in
            var order = order
            let there = contents[CookiePlace(order.cookie)]
            let base = order.base ?? there
            order.base = .some(base)
            order.altered = nil
            if there == order.goal { return nil }
            if there == base { return order }
            // The content is neither the old nor the requested one. With our value, the store has altered the cookie.
            guard let there, there.value == order.goal?.value else { return there == nil ? order : nil }
            order.altered = there
            order.alterations += 1
            guard order.alterations >= Self.alterationLimit else { return order }
            failures.append(Failure(cookie: order.cookie, error: Self.failure(of: order, after: .zero)))
            return nil
        }
        var steps = Steps()
        for order in orders {
            if order.goal == nil { steps.delete.append(order.cookie) } else { steps.set.append(order.cookie) }
        }
        return steps
    }

    /// Records that the store refused a cookie. It is not asked again.
    mutating func refuse(_ cookie: Cookie, because error: WebViewError) {
        orders.removeAll { $0.cookie == cookie }
        failures.append(Failure(cookie: cookie, error: error))
    }

    /// Records that the store did not show the pending orders in time.
    mutating func giveUp(after limit: Duration) {
        failures += orders.map { Failure(cookie: $0.cookie, error: Self.failure(of: $0, after: limit)) }
        orders = []
    }

    private static func failure(of order: Order, after limit: Duration) -> WebViewError {
        let cookie = "the cookie \(order.cookie.name) of \(order.cookie.domain)"
        if let altered = order.altered, let goal = order.goal {
            return WebViewError(.refused, "the store does not keep \(altered.lost(of: goal)) of \(cookie)")
        }
        let what = order.goal == nil ? "deleted" : "stored"
        return WebViewError(
            .timedOut,
            "\(cookie) is not \(what) after \(limit): the store refuses it, or no web view runs it (a web view of its data store "
                + "must exist)"
        )
    }
}

extension CookieContent {
    /// The names of the attributes that the store changed.
    fileprivate func lost(of goal: CookieContent) -> String {
        var names: [String] = []
        if isHTTPOnly != goal.isHTTPOnly { names.append("HttpOnly") }
        if isSecure != goal.isSecure { names.append("Secure") }
        if sameSite != goal.sameSite { names.append("SameSite") }
        if expires != goal.expires { names.append("the expiry") }
        return names.joined(separator: ", ")
    }
}
