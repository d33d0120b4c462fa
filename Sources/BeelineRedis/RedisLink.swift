// SPDX-License-Identifier: Apache-2.0

#if Redis
import CHiredis
import Names

/// The server's reply to one command.
enum RedisValue: Hashable, Sendable {
    case octets([UInt8])
    case integer(Int64)
    /// The key does not exist.
    case nothing
    /// The server refused the command.
    case refused(String)
    /// A reply of an unexpected type, or a key of another type.
    case unexpected

    /// The reason why the server refused the command. Nil for other replies.
    var refusal: String? { if case .refused(let reason) = self { reason } else { nil } }
}

/// A connection that could not be opened.
struct RedisFault: Error {
    let reason: String
}

/// A connection to a server. Calls block for at most twice the time limit.
///
/// Unchecked, because it holds a pointer. Used only under the lock of ``RedisAnswers/link``.
final class RedisLink: @unchecked Sendable {
    /// The maximum size of the replies to an exchange, in octets for each command. The longest valid answer is shorter.
    private static let maxReplyOctets = 2 * AnswerText.maxOctets

    private let context: UnsafeMutablePointer<redisContext>
    private let timeout: Duration
    /// The address of the server.
    let address: IPAddress
    /// Whether an exchange has returned replies. The greeting may be empty and then does not count.
    private var hasAnswered = false
    /// Whether the server closed a working connection, rather than being slow.
    private(set) var wasCut = false

    /// Connects to an address and logs in. hiredis gets no name, because it would look it up without a time limit.
    init(_ configuration: RedisConfiguration, at address: IPAddress) throws(RedisFault) {
        let timeout = timeval(configuration.boundedTimeout)
        guard let context = redisConnectWithTimeout(address.description, CInt(configuration.port), timeout) else {
            throw RedisFault(reason: "no memory for a connection")
        }
        self.context = context
        self.timeout = configuration.boundedTimeout
        self.address = address
        guard context.pointee.err == 0, redisSetTimeout(context, timeout) == REDIS_OK else {
            throw RedisFault(reason: fault)
        }
        var greeting: [[[UInt8]]] = []
        if let password = configuration.password {
            greeting.append((["AUTH"] + [configuration.user, password].compactMap(\.self)).map { Array($0.utf8) })
        }
        if configuration.database != 0 {
            greeting.append(["SELECT", "\(configuration.database)"].map { Array($0.utf8) })
        }
        guard let replies = exchange(greeting) else { throw RedisFault(reason: fault) }
        if let refusal = replies.lazy.compactMap(\.refusal).first { throw RedisFault(reason: refusal) }
    }

    deinit { redisFree(context) }

    /// The reason why the connection is no longer usable.
    var fault: String {
        guard context.pointee.err != 0 else { return "no reply within \(timeout)" }
        return withUnsafeBytes(of: context.pointee.errstr) { String(printable: $0.prefix { $0 != 0 }) }
    }

    /// Sends commands together and waits for all replies. Nil if the connection is no longer usable.
    func exchange(_ commands: [[[UInt8]]]) -> [RedisValue]? {
        // The socket timeout restarts with each octet, so a server that sends slowly needs a time limit for the whole exchange.
        let begin = ContinuousClock.now
        let values = exchange(commands, until: begin + timeout)
        wasCut = values == nil && hasAnswered && ContinuousClock.now < begin + timeout / 2
        if values != nil, !commands.isEmpty { hasAnswered = true }
        return values
    }

    private func exchange(_ commands: [[[UInt8]]], until end: ContinuousClock.Instant) -> [RedisValue]? {
        for command in commands where !append(command) { return nil }
        var isSent: CInt = 0
        while isSent == 0 {
            guard redisBufferWrite(context, &isSent) == REDIS_OK, isSent != 0 || ContinuousClock.now < end else {
                return nil
            }
        }
        var values: [RedisValue] = []
        values.reserveCapacity(commands.count)
        for _ in commands {
            guard let value = reply(until: end, limit: commands.count * Self.maxReplyOctets) else { return nil }
            values.append(value)
        }
        return values
    }

    private func reply(until end: ContinuousClock.Instant, limit: Int) -> RedisValue? {
        while true {
            var reply: UnsafeMutableRawPointer?
            guard isScalar else { return nil }
            guard redisGetReplyFromReader(context, &reply) == REDIS_OK else { return nil }
            if let reply {
                defer { freeReplyObject(reply) }
                return RedisValue(reply.assumingMemoryBound(to: redisReply.self).pointee)
            }
            guard ContinuousClock.now < end, context.pointee.reader.pointee.len < limit,
                redisBufferRead(context) == REDIS_OK
            else { return nil }
        }
    }

    /// Whether the next reply, as far as received, has a type that our commands return. hiredis allocates memory for the
    /// announced number of elements of an array.
    private var isScalar: Bool {
        guard let reader = context.pointee.reader?.pointee, reader.ridx == -1, reader.pos < reader.len else {
            return true
        }
        return [UInt8]("+-:$".utf8).contains(UInt8(bitPattern: reader.buf[reader.pos]))
    }

    private func append(_ words: [[UInt8]]) -> Bool {
        // One buffer holds all words, so that the pointers into it stay valid during the call.
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
        case REDIS_REPLY_ERROR:
            let text = String(printable: UnsafeRawBufferPointer(start: reply.str, count: Int(reply.len)))
            // The key belongs to another program. Every other error concerns the server.
            self = text.hasPrefix("WRONGTYPE") ? .unexpected : .refused(text)
        default: self = .unexpected
        }
    }
}

extension String {
    /// A text of the server for logs: at most 200 characters, printable ASCII only.
    fileprivate init(printable octets: some Sequence<UInt8>) {
        let printable = octets.prefix(200).map { (0x20...0x7e).contains($0) ? $0 : UInt8(ascii: "?") }
        self.init(decoding: printable, as: UTF8.self)
    }
}

extension timeval {
    init(_ duration: Duration) {
        let (seconds, attoseconds) = duration.components
        self.init(tv_sec: Int(seconds), tv_usec: numericCast(attoseconds / 1_000_000_000_000))
    }
}
#endif
