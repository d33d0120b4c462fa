// SPDX-License-Identifier: Apache-2.0

/// The progress of a transfer in either direction.
public struct TransferProgress: Hashable, Sendable {
    /// Bytes transferred so far. A resumed download counts the bytes that it already had; a body that is sent again restarts at
    /// 0.
    public var transferred: Int64
    /// The total number of bytes; nil if unknown.
    public var total: Int64?

    package init(transferred: Int64, total: Int64?) {
        self.transferred = transferred
        self.total = total
    }

    /// The progress from 0 to 1; nil if ``total`` is unknown. It is 1 if ``total`` is 0.
    public var fraction: Double? {
        guard let total else { return nil }
        return total > 0 ? min(1, Double(transferred) / Double(total)) : 1
    }
}
