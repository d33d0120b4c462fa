// SPDX-License-Identifier: Apache-2.0

/// The receive window of a stream (RFC 9113 §5.2), and when to enlarge it.
///
/// It grows while the reader keeps up, because a connection carries at most one window per round trip. If the reader
/// falls behind, the window returns to its first size. This bounds the buffered data, except for data in flight.
struct HTTP2ReceiveWindow {
    /// The maximum growth, as a multiple of the first size.
    static let growth = 4

    private let first: Int
    private let largest: Int
    private var size: Int
    /// The bytes that the peer may still send.
    private var left: Int

    /// - Parameter first: the size announced in SETTINGS, clamped to the maximum of RFC 9113 §6.9.1.
    init(_ first: Int) {
        let first = min(first, HTTP2Frame.maxWindow)
        self.first = first
        largest = first > HTTP2Frame.maxWindow / Self.growth ? HTTP2Frame.maxWindow : Self.growth * first
        size = first
        left = first
    }

    /// Records received bytes. Returns false if they exceed the window.
    mutating func take(_ bytes: Int) -> Bool {
        guard bytes <= left else { return false }
        left -= bytes
        return true
    }

    /// Enlarges the window by `bytes`, even if the reader does not keep up.
    mutating func allow(_ bytes: Int) { left += bytes }

    /// The increment to send to the peer; nil while less than half of the window is used.
    ///
    /// - Parameter isStalled: whether the reader has fallen behind.
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
