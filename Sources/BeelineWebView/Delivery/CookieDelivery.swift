// SPDX-License-Identifier: Apache-2.0

import CookieJar

/// Decides what must be asked of a store again until it shows what it was asked for: stores answer before they have
/// done it, and some do not do it at all.
///
/// A cookie that somebody else puts in the place meanwhile is newer, and is left alone.
struct CookieDelivery {
    /// What a store is to be asked.
    struct Steps {
        var set: [Cookie] = []
        var delete: [Cookie] = []

        var isEmpty: Bool { self.set.isEmpty && self.delete.isEmpty }
    }

    private struct Order {
        let cookie: Cookie
        /// What is to be shown in the place; nil: nothing.
        let goal: CookieContent?
        /// What was shown there before; nil: not looked yet.
        var base: CookieContent??
        /// What the store made of it, where that is not what was asked for.
        var altered: CookieContent?
    }

    /// What is not done yet, in the order in which it was asked for.
    private var orders: [Order]

    /// Nothing has been asked for yet.
    ///
    /// - Parameters:
    ///   - cookies: Those that the store is to have, each with what it keeps of them.
    ///   - deletions: Those that it is to have no more.
    ///   - seen: What the caller knows the store to have; what differs from it is newer. Nil: what the first look
    ///     shows.
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

    /// Takes note of what the store shows.
    ///
    /// - Returns: What is to be asked of it, again where it was asked before.
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
            // Neither what was there nor what was asked for. With our value it is what the store has made of it.
            guard let there, there.value == order.goal?.value else { return there == nil ? order : nil }
            order.altered = there
            return order
        }
        var steps = Steps()
        for order in orders {
            if order.goal == nil { steps.delete.append(order.cookie) } else { steps.set.append(order.cookie) }
        }
        return steps
    }

    /// What to say when time is up.
    func failure(after limit: Duration) -> WebViewError {
        guard let order = orders.first else {
            return WebViewError(.timedOut, "the cookie store did not answer for \(limit)")
        }
        let cookie = "the cookie \(order.cookie.name) of \(order.cookie.domain)"
        if let altered = order.altered, let goal = order.goal {
            return WebViewError(.refused, "the store does not keep \(altered.lost(of: goal)) of \(cookie)")
        }
        let what = order.goal == nil ? "deleted" : "stored"
        return WebViewError(
            .timedOut,
            "\(cookie) is not \(what) after \(limit): the store refuses it, or nobody runs it (a web view of its data store "
                + "must exist)"
        )
    }
}

extension CookieContent {
    /// The names of the attributes that differ.
    fileprivate func lost(of goal: CookieContent) -> String {
        var names: [String] = []
        if isHTTPOnly != goal.isHTTPOnly { names.append("HttpOnly") }
        if isSecure != goal.isSecure { names.append("Secure") }
        if sameSite != goal.sameSite { names.append("SameSite") }
        if expires != goal.expires { names.append("the expiry") }
        return names.joined(separator: ", ")
    }
}
