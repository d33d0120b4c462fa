// SPDX-License-Identifier: Apache-2.0

#if Redis
/// The scripts of a shared jar. Each runs as one step on the server. Their keys have one hash tag, so a cluster keeps
/// them together.
///
/// A record of a cookie is `VERSION:KIND:FORM:` and a payload. VERSION is the time of the change in microseconds, later
/// than each version that its writer knew. KIND is `c` for a cookie and `d` for the record of a deletion. The scripts
/// do not read the rest.
enum JarScripts {
    /// Writes changes that are newer than the server's.
    ///
    /// Keys: cookies, expiries, deletions, feed, state; under a lease also its key and its fence.
    /// Arguments: the maximum number of records, the length of the feed, the lifetime of a deletion record and of an
    /// unused jar in milliseconds, the lease (empty without one), its fence; then for each change its field, version,
    /// kind, expiry in milliseconds (0 without one), and record.
    /// Reply: the serial number of the last change, then for each change 1 (written, or already there), 2 (no room), or
    /// the server's newer record. -1 alone: the lease is no longer valid, and nothing was written.
    static let write = RedisScript(
        """
        local cookies, expiries, deletions, feed, state = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
        local most, length, life, idle = tonumber(ARGV[1]), ARGV[2], tonumber(ARGV[3]), ARGV[4]
        if ARGV[5] ~= '' then
            if redis.call('GET', KEYS[6]) ~= ARGV[5] or redis.call('GET', KEYS[7]) ~= ARGV[6] then return {-1} end
        end
        local time = redis.call('TIME')
        local now = time[1] * 1000 + math.floor(time[2] / 1000)
        local function version(record)
            if not record then return 0 end
            return tonumber(string.match(record, '^(%d+):')) or 0
        end
        -- A version of the future, which the processes ignore, does not block versions up to now.
        local limit = (time[1] + 86400) * 1000000
        local function isOlder(new, record)
            local old = version(record)
            return new <= old and (old <= limit or new > limit)
        end
        local function forget(field)
            local last = version(redis.call('HGET', cookies, field))
            redis.call('HDEL', cookies, field)
            redis.call('ZREM', deletions, field)
            local pruned = tonumber(redis.call('HGET', state, 'pruned') or '0') or 0
            if last <= limit and (last > pruned or pruned > limit) then
                redis.call('HSET', state, 'pruned', string.format('%.0f', last))
            end
        end
        for _, field in ipairs(redis.call('ZRANGEBYSCORE', expiries, '-inf', now, 'LIMIT', 0, 64)) do
            redis.call('HDEL', cookies, field)
            redis.call('ZREM', expiries, field)
        end
        for _, field in ipairs(redis.call('ZRANGEBYSCORE', deletions, '-inf', now, 'LIMIT', 0, 64)) do forget(field) end

        local reply = {0}
        for at = 7, #ARGV, 5 do
            local field, record = ARGV[at], ARGV[at + 4]
            local new = tonumber(ARGV[at + 1])
            local current = redis.call('HGET', cookies, field)
            if current == record then
                reply[#reply + 1] = 1
            elseif current and isOlder(new, current) then
                reply[#reply + 1] = current
            else
                if not current and redis.call('HLEN', cookies) >= most then
                    local oldest = redis.call('ZRANGE', deletions, 0, 0)[1]
                    if oldest then forget(oldest) end
                end
                if not current and redis.call('HLEN', cookies) >= most then
                    reply[#reply + 1] = 2
                else
                    redis.call('HSET', cookies, field, record)
                    if ARGV[at + 2] == 'd' then
                        redis.call('ZREM', expiries, field)
                        redis.call('ZADD', deletions, now + life, field)
                    else
                        redis.call('ZREM', deletions, field)
                        if ARGV[at + 3] == '0' then
                            redis.call('ZREM', expiries, field)
                        else
                            redis.call('ZADD', expiries, ARGV[at + 3], field)
                        end
                    end
                    local serial = redis.call('HINCRBY', state, 'serial', 1)
                    redis.call('XADD', feed, 'MAXLEN', '~', length, '*', 's', serial, 'f', field, 'r', record)
                    reply[#reply + 1] = 1
                end
            end
        end
        for at = 1, 5 do redis.call('PEXPIRE', KEYS[at], idle) end
        reply[1] = tonumber(redis.call('HGET', state, 'serial') or '0')
        return reply
        """
    )

    /// Returns the serial number of the last change, the newest version among the deletion records that are gone, and
    /// the ID of the last entry of the feed, in one step. A version in the future counts as 0: no process would accept
    /// it, or any deletion before it.
    ///
    /// Keys: state, feed.
    static let survey = RedisScript(
        """
        local last = redis.call('XREVRANGE', KEYS[2], '+', '-', 'COUNT', 1)[1]
        local pruned = redis.call('HGET', KEYS[1], 'pruned') or '0'
        if (tonumber(pruned) or 0) > (redis.call('TIME')[1] + 86400) * 1000000 then pruned = '0' end
        return {tonumber(redis.call('HGET', KEYS[1], 'serial') or '0'), pruned, last and last[1] or '0-0'}
        """
    )
}
#endif
