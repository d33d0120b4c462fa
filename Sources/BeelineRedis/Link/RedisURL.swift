// SPDX-License-Identifier: Apache-2.0

#if Redis
import Names

/// The parts of a server's URL: `redis://[USER@]HOST[:PORT][/PART…][?NAME=VALUE&…]`, with the schemes `redis`, `rediss`
/// (TLS), `redis+sentinel` and `rediss+sentinel` (several hosts, separated by commas). Values are percent-decoded.
struct RedisURL: Hashable, Sendable {
    let isSecure: Bool
    let isSentinel: Bool
    let user: String?
    let hosts: [RedisHost]
    /// The parts of the path.
    let path: [String]
    let query: [String: String]

    /// The maximum number of hosts.
    static let maxHosts = 16
    private static let schemes = ["redis", "rediss", "redis+sentinel", "rediss+sentinel"]

    /// - Parameter ending: The form of the path, for errors.
    /// - Throws: ``RedisError`` with code `badURL`.
    init(_ text: String, ending: String = "[/DATABASE]") throws(RedisError) {
        func failure(_ reason: String) -> RedisError {
            // Omit the text, which may contain a password.
            RedisError(.badURL, "the URL of the Redis server \(reason); write redis://[USER@]HOST[:PORT]\(ending)")
        }
        guard let mark = text.firstRange(of: "://"),
            let scheme = Self.schemes.first(where: { $0 == text[..<mark.lowerBound].lowercased() })
        else { throw failure("has an unknown scheme") }
        (isSecure, isSentinel) = (scheme.hasPrefix("rediss"), scheme.hasSuffix("+sentinel"))
        var rest = text[mark.upperBound...]
        guard !rest.contains("#") else { throw failure("has a fragment") }
        var query: [String: String] = [:]
        if let mark = rest.firstIndex(of: "?") {
            for item in rest[rest.index(after: mark)...].split(separator: "&") {
                let parts = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                guard parts.count == 2, let value = Self.decoded(parts[1]), !value.isEmpty,
                    query.updateValue(value, forKey: String(parts[0])) == nil
                else { throw failure("has a malformed query") }
            }
            rest = rest[..<mark]
        }
        self.query = query
        let authority = rest.prefix { $0 != "/" }
        var path: [String] = []
        for part in rest.dropFirst(authority.count).split(separator: "/") {
            guard let part = Self.decoded(part) else { throw failure("has a malformed path") }
            path.append(part)
        }
        self.path = path
        var hosts = authority
        if let mark = authority.lastIndex(of: "@") {
            guard let user = Self.decoded(authority[..<mark]), !user.isEmpty else {
                throw failure("has a malformed user")
            }
            guard !user.contains(":") else {
                throw failure("has a password; put it into a file and name that with ?password-file=FILE")
            }
            self.user = user
            hosts = authority[authority.index(after: mark)...]
        } else {
            user = nil
        }
        let port: UInt16 = isSentinel ? 26_379 : 6_379
        var found: [RedisHost] = []
        for text in hosts.split(separator: ",", omittingEmptySubsequences: false) {
            guard let host = RedisHost(String(text), defaultPort: port) else { throw failure("has a malformed host") }
            found.append(host)
        }
        guard found.count <= (isSentinel ? Self.maxHosts : 1) else { throw failure("has too many hosts") }
        self.hosts = found
    }

    private static func decoded(_ text: some StringProtocol) -> String? {
        // A zero would end a file's path early.
        guard let text = PercentEncoding.decode(text), !text.utf8.contains(0) else { return nil }
        return text
    }
}

extension RedisConfiguration {
    /// Makes a configuration from a URL: `redis://[USER@]HOST[:PORT][/DATABASE]`.
    ///
    /// `rediss://` uses TLS. `redis+sentinel://HOST[:PORT],…/SERVICE[/DATABASE]` asks Sentinels for the server. The
    /// query may have `password-file=FILE` and `cacert=FILE`. A URL cannot contain a password.
    ///
    /// - Throws: ``RedisError``: `badURL`, `badSecret`.
    public init(url: String) throws(RedisError) {
        let url = try RedisURL(url)
        var rest = url.path[...]
        self = try RedisConfiguration(url, path: &rest, names: ["password-file", "cacert"])
        guard rest.isEmpty else { throw RedisError(.badURL, "the path of the Redis URL has more than a database") }
    }

    /// - Parameters:
    ///   - path: The parts of the path. The ones that belong to the server are removed.
    ///   - names: The names that the query may have.
    init(_ url: RedisURL, path: inout ArraySlice<String>, names: Set<String>) throws(RedisError) {
        self.init()
        if let unknown = url.query.keys.filter({ !names.contains($0) }).min() {
            throw RedisError(
                .badURL,
                "the query of the Redis URL has \"\(unknown)\"; it may have \(names.sorted().joined(separator: ", "))"
            )
        }
        if url.isSentinel {
            guard let service = path.popFirst() else {
                let jar = names.contains("key-file") ? "/NAME" : ""
                throw RedisError(
                    .badURL,
                    "the Redis URL names no service of Sentinel; write redis+sentinel://HOST/SERVICE\(jar)"
                )
            }
            sentinel = RedisSentinel(hosts: url.hosts, service: service)
        } else if let host = url.hosts.first {
            (self.host, port) = (host.name, host.port)
        }
        if let number = path.first.flatMap({ Int($0) }), (0...65_535).contains(number) {
            database = number
            path = path.dropFirst()
        }
        user = url.user
        if let file = url.query["password-file"] {
            let octets = try SecretFile.read(file, "password", code: .badSecret)
            password = String(decoding: octets.prefix { $0 != 0x0a && $0 != 0x0d }, as: UTF8.self)
        }
        guard user == nil || password != nil else {
            throw RedisError(.badURL, "the Redis URL has a user but no ?password-file=FILE")
        }
        if url.isSecure {
            let settings = RedisTLS(authorityFile: url.query["cacert"])
            _ = try settings.authorities()
            tls = settings
        }
        guard url.isSecure || url.query["cacert"] == nil else {
            throw RedisError(.badURL, "the Redis URL has cacert but no TLS; write rediss://")
        }
    }
}

extension RedisJarConfiguration {
    /// Makes a configuration from a URL: that of ``RedisConfiguration/init(url:)`` and the name of the jar,
    /// `redis://[USER@]HOST[:PORT][/DATABASE]/NAME`. The query may also have `key-file=FILE`, the key that encrypts the
    /// cookies.
    ///
    /// - Throws: ``RedisError``: `badURL`, `badSecret`, `badKey`.
    public init(url text: String) throws(RedisError) {
        let url = try RedisURL(text, ending: "[/DATABASE]/NAME")
        self.init(name: "")
        let (timeout, retryDelay) = (redis.timeout, redis.retryDelay)
        var rest = url.path[...]
        // A name of several parts whose first part is a number needs a database before it.
        let last = rest.popLast()
        redis = try RedisConfiguration(url, path: &rest, names: ["password-file", "cacert", "key-file"])
        (redis.timeout, redis.retryDelay) = (timeout, retryDelay)
        guard let last else {
            throw RedisError(.badURL, "the Redis URL names no jar; write redis://HOST[:PORT][/DATABASE]/NAME")
        }
        name = (rest + [last]).joined(separator: "/")
        if let file = url.query["key-file"] { encryptionKey = try RedisJarEncryptionKey(file: file) }
    }
}
#endif
