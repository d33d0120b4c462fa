// SPDX-License-Identifier: Apache-2.0

#if Redis
import CHiredis
import Names

import LibC

/// A server that cannot be used.
struct RedisFault: Error, Hashable {
    let reason: String
}

/// A connection to a server. Each call has a time limit.
///
/// Unchecked, because it holds a pointer. One thread uses it at a time; only ``interrupt()`` may come from another.
final class RedisLink: @unchecked Sendable {
    private let context: UnsafeMutablePointer<redisContext>
    private let timeout: Duration
    private var reader = RedisReplyReader()
    /// The server.
    let host: RedisHost
    /// The address of the server.
    let address: IPAddress
    /// Why the last exchange failed, if hiredis does not know.
    private var failure: String?
    /// Whether an octet of the present exchange's replies has arrived.
    private var hasReceived = false
    /// Whether the server closed the connection before any octet of the last exchange's replies arrived. It may
    /// nevertheless have executed the commands.
    private(set) var wasCut = false

    /// Connects to an address. hiredis gets no name, because it would look it up without a time limit.
    ///
    /// - Parameters:
    ///   - logsIn: Whether to log in and select the database.
    ///   - security: TLS; nil for a connection that is not secured.
    init(
        _ configuration: RedisConfiguration,
        _ host: RedisHost,
        at address: IPAddress,
        logsIn: Bool,
        security: RedisSecurity?
    ) throws(RedisFault) {
        let timeout = timeval(configuration.boundedTimeout)
        let made: UnsafeMutablePointer<redisContext>?
        if let security {
            let file = try security.connect(to: address, host, within: configuration.boundedTimeout)
            made = redisConnectFd(file)
            if made == nil { close(file) }
        } else {
            made = redisConnectWithTimeout(address.description, CInt(host.port), timeout)
        }
        guard let context = made else { throw RedisFault(reason: "no memory for a connection") }
        self.context = context
        self.timeout = configuration.boundedTimeout
        (self.address, self.host) = (address, host)
        guard context.pointee.err == 0, redisSetTimeout(context, timeout) == REDIS_OK else {
            throw RedisFault(reason: fault)
        }
        guard logsIn else { return }
        var greeting: [RedisCommand] = []
        if let password = configuration.password {
            greeting.append((["AUTH"] + [configuration.user, password].compactMap(\.self)).map { Array($0.utf8) })
        }
        if configuration.database != 0 {
            greeting.append(["SELECT", "\(configuration.database)"].map { Array($0.utf8) })
        }
        guard let replies = exchange(greeting) else { throw RedisFault(reason: fault) }
        guard let refusal = replies.lazy.compactMap(\.refusal).first else { return }
        throw RedisFault(reason: configuration.password == nil ? refusal : Self.reason(ofLogin: refusal))
    }

    /// The reason to report for a login that was refused: the code of the server's error and a text of our own, because
    /// the server's text may quote the password.
    private static func reason(ofLogin refusal: String) -> String {
        let code = refusal.prefix { ("A"..."Z").contains($0) }
        let reason = "the server refuses the login; check the user, the password and the database"
        return code.isEmpty ? reason : "\(code) \(reason)"
    }

    deinit { redisFree(context) }

    /// The reason why the connection is no longer usable.
    var fault: String {
        if let failure { return failure }
        guard context.pointee.err != 0 else { return "no reply within \(timeout)" }
        return withUnsafeBytes(of: context.pointee.errstr) { String(printable: $0.prefix { $0 != 0 }) }
    }

    /// Ends the exchange of another thread. The connection is unusable afterwards.
    func interrupt() { shutdown(context.pointee.fd, Int32(SHUT_RDWR)) }

    /// Whether the connection can take commands: the server has neither closed it nor sent unsolicited data. Does not
    /// wait.
    var isUsable: Bool {
        guard reader.isIdle else { return false }
        var waiting = pollfd(fd: context.pointee.fd, events: Int16(POLLIN), revents: 0)
        return context.pointee.err == 0 && failure == nil && poll(&waiting, 1, 0) == 0
    }

    /// Sends commands together and waits for all replies. Nil if the connection is no longer usable.
    ///
    /// - Parameters:
    ///   - limits: The limits of each reply. Default: the longest answer of a resolver, and no arrays.
    ///   - limit: The time limit of the exchange. Default: the time limit of the configuration.
    func exchange(
        _ commands: [RedisCommand],
        limits: RedisReplyReader.Limits = .init(octets: 2 * AnswerText.maxOctets, elements: 0),
        within limit: Duration? = nil
    ) -> [RedisValue]? {
        // The socket timeout restarts with each octet, so a server that sends slowly needs a time limit for the whole
        // exchange.
        let end = ContinuousClock.now + (limit ?? timeout)
        wasCut = false
        // A leftover reply would be taken for the reply to these commands.
        guard reader.isIdle else {
            failure = "the server sent a reply that no command asked for"
            return nil
        }
        for command in commands where !append(command) { return nil }
        var isSent: CInt = 0
        while isSent == 0 {
            guard redisBufferWrite(context, &isSent) == REDIS_OK else {
                wasCut = errno == EPIPE || errno == ECONNRESET
                return nil
            }
            guard isSent != 0 || ContinuousClock.now < end else { return nil }
        }
        var values: [RedisValue] = []
        values.reserveCapacity(commands.count)
        hasReceived = false
        for _ in commands {
            guard let value = reply(limits, until: end) else { return nil }
            values.append(value)
        }
        return values
    }

    private func reply(_ limits: RedisReplyReader.Limits, until end: ContinuousClock.Instant) -> RedisValue? {
        while true {
            do throws(RedisReplyReader.Failure) {
                if let value = try reader.next(limits) { return value }
            } catch {
                failure = error == .malformed ? "the reply is not one of Redis" : "the reply is too large"
                return nil
            }
            guard receive(until: end) else { return nil }
        }
    }

    /// Waits for octets and reads the available ones. Returns false at the time limit and at the end of the connection.
    private func receive(until end: ContinuousClock.Instant) -> Bool {
        let left = ContinuousClock.now.duration(to: end).components
        let milliseconds = left.seconds * 1_000 + left.attoseconds / 1_000_000_000_000_000
        guard milliseconds >= 0 else { return false }
        var waiting = pollfd(fd: context.pointee.fd, events: Int16(POLLIN), revents: 0)
        let count = poll(&waiting, 1, Int32(min(milliseconds + 1, 3_600_000)))
        guard count > 0 else { return count < 0 && errno == EINTR }
        var octets = [UInt8](repeating: 0, count: 16_384)
        let size = recv(context.pointee.fd, &octets, octets.count, 0)
        guard size > 0 else {
            let code = errno
            if size < 0, code == EINTR || code == EAGAIN { return true }
            failure = size == 0 ? "Server closed the connection" : String(cString: strerror(code))
            wasCut = !hasReceived && (size == 0 || code == ECONNRESET)
            return false
        }
        hasReceived = true
        reader.append(octets.prefix(size))
        return true
    }

    private func append(_ words: RedisCommand) -> Bool {
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

    /// hiredis writes to sockets that the server may have closed. An unblocked SIGPIPE would end the program, so each
    /// thread that uses connections blocks it.
    static func blockPipeSignal() {
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGPIPE)
        pthread_sigmask(SIG_BLOCK, &signals, nil)
    }
}

extension timeval {
    init(_ duration: Duration) {
        let (seconds, attoseconds) = duration.components
        self.init(tv_sec: Int(seconds), tv_usec: numericCast(attoseconds / 1_000_000_000_000))
    }
}
#endif
