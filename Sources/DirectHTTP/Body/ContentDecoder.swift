// SPDX-License-Identifier: Apache-2.0

import NIOCore

/// Undoes the codings of a body, the last one first (RFC 9110 §8.4): each gives the next a piece at a time, so that none of
/// them holds more than one.
///
/// Not Sendable: it belongs to the one reader of a body.
struct ContentDecoder {
    /// How many codings are undone: a byte of a body can mean a thousand with each.
    static let maximumCodings = 2

    /// The first takes what came from the wire, the last gives the plain bytes.
    private let stages: [Inflater]

    /// - Parameter codings: at least one, in the order in which they were applied.
    init(_ codings: [Inflater.Coding]) {
        stages = codings.reversed().map(Inflater.init)
    }

    /// Hands over coded bytes; only when ``next()`` has nothing more.
    func feed(_ bytes: ByteBuffer) {
        stages[0].feed(bytes)
    }

    /// The next plain bytes; nil where more input is needed or the body is at its end.
    func next() throws(DirectHTTPError) -> ByteBuffer? {
        try next(of: stages.count - 1)
    }

    /// Whether the body may end here. No bytes at all are an empty body, not a broken one.
    var isFinished: Bool { stages.allSatisfy { $0.isFinished || !$0.hasStarted } }

    private func next(of stage: Int) throws(DirectHTTPError) -> ByteBuffer? {
        while true {
            if let plain = try stages[stage].next() { return plain }
            guard stage > 0, let coded = try next(of: stage - 1) else { return nil }
            stages[stage].feed(coded)
        }
    }
}
