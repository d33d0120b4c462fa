// SPDX-License-Identifier: Apache-2.0

/// How far a body has come, in either direction.
public struct TransferProgress: Hashable, Sendable {
    /// Bytes so far. A download that goes on counts those that were there before; a body that is sent again begins at 0.
    public var transferred: Int64
    /// Bytes in all; nil where nobody says.
    public var total: Int64?

    /// A progress of parts.
    public init(transferred: Int64, total: Int64?) {
        self.transferred = transferred
        self.total = total
    }

    /// From 0 to 1; nil where ``total`` is not known. Nothing of nothing is all of it.
    public var fraction: Double? {
        guard let total else { return nil }
        return total > 0 ? min(1, Double(transferred) / Double(total)) : 1
    }
}
