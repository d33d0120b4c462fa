// SPDX-License-Identifier: Apache-2.0

/// In which order upstreams are asked, and when the next joins.
public struct UpstreamOrder: Hashable, Sendable, CustomStringConvertible {
    enum Kind: Hashable, Sendable {
        case sequence
        case race(Int)
        case hedge
        case weighted
    }

    let kind: Kind

    /// In the declared order, the next when one has failed.
    public static let sequence = UpstreamOrder(kind: .sequence)

    /// So many at once, in the declared order; the first good answer is taken, the others are cancelled. Each one that
    /// fails is followed by the next.
    public static func race(_ width: Int) -> UpstreamOrder { UpstreamOrder(kind: .race(max(1, width))) }

    /// In the declared order; one that takes longer than it usually does is joined by the next.
    public static let hedge = UpstreamOrder(kind: .hedge)

    /// By chance, those that answer faster more often (and those that never were asked first); the next when one has
    /// failed.
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
    /// How long an upstream that was never measured has before it is joined.
    static let firstHedge = Duration.milliseconds(250)
    /// The shortest time before an upstream is joined.
    static let shortestHedge = Duration.milliseconds(20)

    /// The numbers 0..<count in the order to ask.
    ///
    /// - Parameters:
    ///   - roundTrip: The measured time of an upstream's answers.
    ///   - random: A number in 0..<1.
    func arrange(_ count: Int, roundTrip: (Int) -> Duration?, random: () -> Double) -> [Int] {
        guard kind == .weighted else { return Array(0..<count) }
        var left = Array(0..<count)
        var arranged: [Int] = []
        while !left.isEmpty {
            if let new = left.firstIndex(where: { roundTrip($0) == nil }) {
                arranged.append(left.remove(at: new))
                continue
            }
            // A millisecond more, so that none that is very near leaves nothing for the others.
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
