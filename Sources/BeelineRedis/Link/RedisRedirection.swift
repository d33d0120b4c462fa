// SPDX-License-Identifier: Apache-2.0

#if Redis
/// The reply of a cluster's server that does not have a key: `MOVED SLOT HOST:PORT` or `ASK SLOT HOST:PORT`.
struct RedisRedirection: Hashable, Sendable {
    /// The number of slots of a cluster. Each key belongs to one.
    static let slots = 16_384
    /// The maximum number of redirections of one command.
    static let maxCount = 4
    /// The reason to report above ``maxCount``.
    static let tooMany = "the cluster redirects in a circle"

    let slot: Int
    /// The server that has the key.
    let target: RedisHost
    /// Whether only this command goes there (ASK), and further commands for the slot still go to the server that
    /// replied.
    let isTemporary: Bool

    /// Nil for other errors.
    ///
    /// - Parameter host: The server that replied. A redirection without a host means its host.
    init?(_ refusal: String, from host: RedisHost) {
        let words = refusal.split(separator: " ")
        guard words.count == 3, words[0] == "MOVED" || words[0] == "ASK",
            let slot = Int(words[1]), (0..<Self.slots).contains(slot),
            let mark = words[2].lastIndex(of: ":"), let port = UInt16(words[2][words[2].index(after: mark)...])
        else { return nil }
        let name = words[2][..<mark]
        guard let target = RedisHost(checking: name.isEmpty ? host.name : String(name), port: port) else { return nil }
        (self.slot, self.target, isTemporary) = (slot, target, words[0] == "ASK")
    }
}
#endif
