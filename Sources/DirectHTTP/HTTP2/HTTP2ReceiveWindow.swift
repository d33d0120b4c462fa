// SPDX-License-Identifier: Apache-2.0

/// What the peer may send on one stream (RFC 9113 §5.2), and when it is allowed more.
///
/// It grows while the reader takes all that comes: on a long way no more than one window is carried in a round trip. A reader who
/// falls behind has the first size again, which is all that then waits for it beside what was on its way.
struct HTTP2ReceiveWindow {
    /// How many times the first size it may reach.
    static let growth = 4

    private let first: Int
    private let largest: Int
    private var size: Int
    /// What the peer may still send.
    private var left: Int

    /// - Parameter first: the size that SETTINGS told; none is larger than RFC 9113 §6.9.1 allows.
    init(_ first: Int) {
        let first = min(first, HTTP2Frame.maximumWindow)
        self.first = first
        largest = first > HTTP2Frame.maximumWindow / Self.growth ? HTTP2Frame.maximumWindow : Self.growth * first
        size = first
        left = first
    }

    /// The peer sent something. False where that is more than it was allowed.
    mutating func take(_ bytes: Int) -> Bool {
        guard bytes <= left else { return false }
        left -= bytes
        return true
    }

    /// The peer may send so much more, whatever the reader does.
    mutating func allow(_ bytes: Int) { left += bytes }

    /// What to allow the peer now; nil: nothing yet. Half a window at a time.
    ///
    /// - Parameter isStalled: whether the reader has as much before it as may wait.
    mutating func credit(isStalled: Bool) -> Int? {
        guard !isStalled else {
            size = first
            return nil
        }
        guard size - left >= size / 2 else { return nil }
        size = size > largest / 2 ? largest : 2 * size
        let credit = size - left
        left = size
        return credit
    }
}
