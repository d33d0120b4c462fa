// SPDX-License-Identifier: Apache-2.0

#if Redis
import CHiredis

/// What the server answered to one command.
enum RedisValue: Hashable, Sendable {
    case octets([UInt8])
    case integer(Int64)
    /// There is no such key.
    case nothing
    /// It refuses the command, or says something that we never ask for.
    case unexpected
}

/// One connection to a server. Its calls block, each for no longer than the patience.
///
/// Unchecked, for it holds a pointer: it is used under the lock of ``RedisAnswers/link`` alone.
final class RedisLink: @unchecked Sendable {
    private let context: UnsafeMutablePointer<redisContext>

    /// Connects and logs in; nil where the server is away or refuses.
    init?(_ configuration: RedisConfiguration) {
        let patience = timeval(configuration.patience)
        guard let context = redisConnectWithTimeout(configuration.host, CInt(configuration.port), patience) else {
            return nil
        }
        self.context = context
        guard context.pointee.err == 0, redisSetTimeout(context, patience) == REDIS_OK else { return nil }
        var greeting: [[[UInt8]]] = []
        if let password = configuration.password {
            greeting.append((["AUTH"] + [configuration.user, password].compactMap(\.self)).map { Array($0.utf8) })
        }
        if configuration.database != 0 {
            greeting.append(["SELECT", "\(configuration.database)"].map { Array($0.utf8) })
        }
        guard let replies = exchange(greeting), !replies.contains(.unexpected) else { return nil }
    }

    deinit { redisFree(context) }

    /// Sends commands together and waits for all their replies; nil where the connection is of no use any more.
    func exchange(_ commands: [[[UInt8]]]) -> [RedisValue]? {
        for command in commands where !append(command) { return nil }
        var values: [RedisValue] = []
        values.reserveCapacity(commands.count)
        for _ in commands {
            var reply: UnsafeMutableRawPointer?
            guard redisGetReply(context, &reply) == REDIS_OK, let reply else { return nil }
            values.append(RedisValue(reply.assumingMemoryBound(to: redisReply.self).pointee))
            freeReplyObject(reply)
        }
        return values
    }

    private func append(_ words: [[UInt8]]) -> Bool {
        // One block for all words: pointers into it stay valid during the call.
        let block = words.flatMap(\.self)
        return block.withUnsafeBytes { bytes in
            guard let start = bytes.baseAddress?.assumingMemoryBound(to: CChar.self) else { return false }
            var offset = 0
            var pointers: [UnsafePointer<CChar>?] = words.map { word in
                defer { offset += word.count }
                return start + offset
            }
            return redisAppendCommandArgv(context, CInt(words.count), &pointers, words.map(\.count)) == REDIS_OK
        }
    }
}

extension RedisValue {
    init(_ reply: redisReply) {
        switch reply.type {
        case REDIS_REPLY_STRING, REDIS_REPLY_STATUS:
            let bytes = UnsafeRawBufferPointer(start: reply.str, count: Int(reply.len))
            self = .octets(Array(bytes))
        case REDIS_REPLY_INTEGER: self = .integer(reply.integer)
        case REDIS_REPLY_NIL: self = .nothing
        default: self = .unexpected
        }
    }
}

extension timeval {
    init(_ duration: Duration) {
        let (seconds, attoseconds) = duration.components
        self.init(tv_sec: Int(seconds), tv_usec: numericCast(attoseconds / 1_000_000_000_000))
    }
}
#endif
