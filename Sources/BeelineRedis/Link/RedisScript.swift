// SPDX-License-Identifier: Apache-2.0

#if Redis
import Crypto
import Names

/// A Lua script that the server caches under its digest.
struct RedisScript: Sendable {
    /// The error for a reply of another form than the script's.
    static let malformedReply = RedisFault(reason: "the reply of the script is malformed")

    let text: String
    private let digest: [UInt8]

    init(_ text: String) {
        self.text = text
        // Redis names scripts by their SHA-1; nothing depends on its strength.
        digest = Array(Hex.encode(Insecure.SHA1.hash(data: Array(text.utf8))).utf8)
    }

    /// Runs the script, and sends its text only if the server does not know it. A script may run twice if its
    /// connection is cut, so the second run must have the same result.
    ///
    /// - Throws: ``RedisFault`` without a usable connection, and if the script fails.
    func run(
        in session: RedisSession,
        keys: [[UInt8]],
        arguments: [[UInt8]],
        limits: RedisReplyReader.Limits
    ) throws(RedisFault) -> RedisValue {
        let tail = [Array("\(keys.count)".utf8)] + keys + arguments
        var reply = try session.call([[Array("EVALSHA".utf8), digest] + tail], limits: limits, reconnects: true).first
        if reply?.refusal?.hasPrefix("NOSCRIPT") ?? false {
            reply = try session.call([[Array("EVAL".utf8), Array(text.utf8)] + tail], limits: limits, reconnects: true)
                .first
        }
        guard let reply, reply.refusal == nil else {
            throw RedisFault(reason: reply?.refusal ?? "the script has no reply")
        }
        return reply
    }
}
#endif
