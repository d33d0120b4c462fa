// SPDX-License-Identifier: Apache-2.0

#if Redis
/// The scripts of leases. A lease is a key with a lifetime, whose value is the fence and a random token. The fence is a
/// counter, so that an older lease can be distinguished from a newer one even if the server forgot the key.
enum LeaseScripts {
    /// Takes a lease if it is free.
    ///
    /// Keys: lease, fence, state. Arguments: the token, the lifetime of the lease and of the fence in milliseconds.
    /// Reply: the fence, or 0 if another process has the lease; the remaining lifetime of the lease; the serial number
    /// of the jar's last change. The fence is returned as a string, because Lua would round a number.
    /// If the script is sent again because its reply was lost, the process recognizes its lease by the token.
    static let acquire = RedisScript(
        """
        local serial = tonumber(redis.call('HGET', KEYS[3], 'serial') or '0')
        local held = redis.call('GET', KEYS[1])
        if held then
            local fence = held:sub(-#ARGV[1] - 1) == ':' .. ARGV[1] and held:match('^%d+') or 0
            return {fence, redis.call('PTTL', KEYS[1]), serial}
        end
        redis.call('INCR', KEYS[2])
        local fence = redis.call('GET', KEYS[2])
        redis.call('PEXPIRE', KEYS[2], ARGV[3])
        redis.call('SET', KEYS[1], fence .. ':' .. ARGV[1], 'NX', 'PX', ARGV[2])
        return {fence, tonumber(ARGV[2]), serial}
        """
    )

    /// Renews a lease. Keys: lease. Arguments: its value and its lifetime in milliseconds. Reply: 1, or 0 if it is not
    /// valid any more.
    static let renew = RedisScript(
        """
        if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
        return redis.call('PEXPIRE', KEYS[1], ARGV[2])
        """
    )

    /// Releases a lease. Keys: lease. Arguments: its value. Reply: the number of leases that ended.
    static let release = RedisScript(
        """
        if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
        return redis.call('DEL', KEYS[1])
        """
    )
}
#endif
