// SPDX-License-Identifier: Apache-2.0

import NIOCore

/// Decodes the codings of a body, the last applied first (RFC 9110 §8.4). Each stage passes single pieces to the next, so that no
/// stage holds more than one.
///
/// Not Sendable: it belongs to the only reader of the body.
struct ContentDecoder {
    /// The maximum number of codings. Each can expand a byte a thousandfold.
    static let maxCodings = 2

    /// The first stage takes the received bytes, the last returns the plain bytes.
    private let stages: [ContentStage]

    /// - Parameter codings: at least one, in the order in which they were applied.
    init(_ codings: [ContentCoding]) {
        stages = codings.reversed().map(ContentStage.init)
    }

    /// Adds coded bytes. Call it only when ``next()`` has returned nil.
    func feed(_ bytes: ByteBuffer) {
        stages[0].feed(bytes)
    }

    /// The next plain bytes; nil if more input is needed or the body has ended.
    func next() throws(DirectHTTPError) -> ByteBuffer? {
        try next(of: stages.count - 1)
    }

    /// Whether the body may end here. Empty input is an empty body, not an error.
    var isFinished: Bool { stages.allSatisfy { $0.isFinished || !$0.hasStarted } }

    private func next(of stage: Int) throws(DirectHTTPError) -> ByteBuffer? {
        while true {
            if let plain = try stages[stage].next() { return plain }
            guard stage > 0, let coded = try next(of: stage - 1) else { return nil }
            stages[stage].feed(coded)
        }
    }
}
