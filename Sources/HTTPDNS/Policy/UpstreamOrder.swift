// SPDX-License-Identifier: Apache-2.0

/// The order in which upstreams are asked, and when the next is asked too.
///
/// In each order, the next upstream is asked after a failure, and when an upstream takes too long
/// (``ResolverConfiguration/Limits/upstream``).
public struct UpstreamOrder: Hashable, Sendable, CustomStringConvertible {
    enum Kind: Hashable, Sendable {
        case sequence
        case race(Int)
        case hedge
        case weighted
    }

    let kind: Kind

    /// In the configured order.
    public static let sequence = UpstreamOrder(kind: .sequence)

    /// `width` upstreams at once, in the configured order. The first good answer wins and cancels the others. Tables are
    /// asked before the race.
    public static func race(_ width: Int) -> UpstreamOrder { UpstreamOrder(kind: .race(max(1, width))) }

    /// In the configured order; the next is asked too as soon as an upstream is slower than usual.
    public static let hedge = UpstreamOrder(kind: .hedge)

    /// In random order, weighted towards fast upstreams; those never asked come first. Tables are asked before all
    /// others.
    public static let weighted = UpstreamOrder(kind: .weighted)

    /// The order's name.
    public var description: String {
        switch kind {
        case .sequence: "sequence"
        case .race(let width): "race of \(width)"
        case .hedge: "hedge"
        case .weighted: "weighted"
        }
    }
}

extension UpstreamOrder {
    /// Whether tables come before the services, in whatever order the configuration has them: a name in a table is sent
    /// to no service.
    var asksTablesFirst: Bool {
        switch kind {
        case .sequence, .hedge: false
        case .race, .weighted: true
        }
    }

    /// The time after which the next upstream is asked too, for an upstream without a measured time.
    static let firstHedge = Duration.milliseconds(250)
    /// The minimum time before the next upstream is asked too.
    static let shortestHedge = Duration.milliseconds(20)

    /// The indices 0..<count, in the order to ask.
    ///
    /// - Parameters:
    ///   - roundTrip: The measured response time of an upstream.
    ///   - random: A random number in 0..<1.
    func arrange(_ count: Int, roundTrip: (Int) -> Duration?, random: () -> Double) -> [Int] {
        guard kind == .weighted else { return Array(0..<count) }
        var left = Array(0..<count)
        var arranged: [Int] = []
        while !left.isEmpty {
            if let new = left.firstIndex(where: { roundTrip($0) == nil }) {
                arranged.append(left.remove(at: new))
                continue
            }
            // Adds a millisecond, so that a very near upstream does not get all questions.
            let weights = left.map { 1 / (Double(roundTrip($0)?.nanoseconds ?? 0) + 1_000_000) }
            var point = random() * weights.reduce(0, +)
            let chosen = weights.firstIndex { weight in
                point -= weight
                return point < 0
            }
            arranged.append(left.remove(at: chosen ?? left.count - 1))
        }
        return arranged
    }
}
