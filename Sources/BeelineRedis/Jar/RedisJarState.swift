// SPDX-License-Identifier: Apache-2.0

#if Redis
/// The health of a shared jar.
public struct RedisJarState: Hashable, Sendable {
    /// Whether the jar follows the server's changes. If not, the local jar keeps working, and both are reconciled
    /// later.
    public var isConnected: Bool
    /// The number of changes of this process that are not on the server yet.
    public var unwrittenChanges: Int
    /// The number of records on the server that this process could not read, since it last read the whole jar.
    public var unreadableRecords: Int
    /// The reason why the server cannot be used; nil if it can be used.
    public var failure: String?
}
#endif
