// SPDX-License-Identifier: Apache-2.0

#if Redis
import CookieJar
import HTTPDNS
import Names

@testable import BeelineRedis
#endif

extension Fuzzer {
    #if Redis
    /// Decoders of a Redis server's replies and of the records of a shared jar.
    static let redis: [Fuzzer] = [
        Fuzzer(
            "redis-replies",
            texts: [
                "\u{3}+OK\r\n:42\r\n$-1\r\n", "\u{1}*2\r\n$1\r\n0\r\n*2\r\n$1\r\nf\r\n$2\r\nrr\r\n",
                "\u{7}-WRONGTYPE x\r\n*-1\r\n*0\r\n", "\u{2}-MOVED 1 192.0.2.1:6379\r\n$3\r\na\r\n\r\n",
            ]
        ) { bytes in
            // The first octet is the size of the pieces.
            guard let size = bytes.first, size > 0 else { return }
            let whole = read(bytes.dropFirst(), piece: bytes.count)
            guard read(bytes.dropFirst(), piece: Int(size)) == whole else {
                violation("replies that depend on how they arrive")
            }
            let again = read(whole.values.flatMap(write)[...], piece: bytes.count, maxOctets: 65_536)
            guard again == (whole.values, false) else { violation("replies that are not read again") }
        },
        Fuzzer(
            "redis-redirections",
            texts: ["MOVED 16383 192.0.2.1:6379", "ASK 7 :6380", "MOVED 0 2001:db8::1:65535"]
        ) { bytes in
            let host = RedisHost("given.test", port: 6_379)
            guard let found = RedisRedirection(String(decoding: bytes, as: UTF8.self), from: host) else { return }
            guard (0..<RedisRedirection.slots).contains(found.slot), found.target.port > 0 else {
                violation("a redirection to no server or of no slot")
            }
        },
        Fuzzer("jar-rows", seeds: [JarRow.write(cookie) ?? []]) { bytes in
            guard let cookie = JarRow.read(bytes[...]) else { return }
            guard let row = JarRow.write(cookie), JarRow.read(row[...]) == cookie else {
                violation("a cookie is not read again from its own row")
            }
            for coding in [plain, encrypted] {
                let entry = PendingChanges.Entry(cookie: cookie, kind: .stored, updated: 7, order: 7)
                guard let (field, record) = coding.record(of: entry),
                    coding.update(field: field, record: record)?.cookie == cookie
                else { violation("a cookie is not read again from its own record") }
            }
        },
        Fuzzer(
            "jar-records",
            seeds: [Array("7:c:p:".utf8), Array("9007199254740992:d:p:".utf8)].map { $0 + (JarRow.write(cookie) ?? []) }
                + [Array("7:c:e:0123456789abcdef0123456789abcdef".utf8)]
        ) { bytes in
            for coding in [plain, encrypted] {
                let field = coding.field(of: CookieKey(cookie))
                guard let update = coding.update(field: field, record: bytes) else { continue }
                guard update.key == CookieKey(cookie), (1...JarUpdate.maxVersion).contains(update.version) else {
                    violation("a record of another cookie or with a version out of bounds")
                }
            }
        },
        Fuzzer("shared-answers", texts: ["300 192.0.2.1 192.0.2.2", "30 none", "9 noname", "60 2001:db8::1"]) { bytes in
            for family in [IPAddress.Family.v4, .v6] {
                guard let records = AnswerText.read(bytes, family, left: .seconds(5)) else { continue }
                let again = AnswerText.write(records, maxTTL: .seconds(86_400))
                guard again.flatMap({ AnswerText.read(Array($0.text.utf8), family, left: .seconds(5)) }) == records
                else {
                    violation("an answer is not read again from its own text")
                }
            }
        },
    ]

    private static let cookie: Cookie = {
        var cookie = Cookie("n", "v", domain: "shop.test")
        cookie.expires = CookieTime(secondsSince1970: 2_000_000_000)
        return cookie
    }()

    private static let plain = JarCoding(place: "{beeline:jar:shop}:", cipher: nil)
    private static let encrypted = JarCoding(
        place: "{beeline:jar:shop}:",
        cipher: RedisJarEncryptionKey([UInt8](repeating: 7, count: 32)).map { JarCipher($0) }
    )

    /// The replies that arrive in pieces, and whether the reader has refused the next one.
    private static func read(
        _ bytes: ArraySlice<UInt8>,
        piece: Int,
        maxOctets: Int = 1_024
    ) -> (values: [RedisValue], isRefused: Bool) {
        var (reader, values, rest) = (RedisReplyReader(), [RedisValue](), bytes)
        let limits = RedisReplyReader.Limits(octets: maxOctets, elements: 32)
        while !rest.isEmpty {
            reader.append(rest.prefix(piece))
            rest = rest.dropFirst(piece)
            do throws(RedisReplyReader.Failure) {
                while let value = try reader.next(limits) { values.append(value) }
            } catch {
                return (values, true)
            }
        }
        return (values, false)
    }

    /// A reply on the wire.
    private static func write(_ value: RedisValue) -> [UInt8] {
        switch value {
        case .octets(let octets): Array("$\(octets.count)\r\n".utf8) + octets + [13, 10]
        case .integer(let number): Array(":\(number)\r\n".utf8)
        case .array(let values): Array("*\(values.count)\r\n".utf8) + values.flatMap(write)
        case .nothing: Array("$-1\r\n".utf8)
        case .refused(let reason): Array("-\(reason)\r\n".utf8)
        case .unexpected: Array("-WRONGTYPE\r\n".utf8)
        }
    }
    #else
    /// None without the trait `Redis`.
    static let redis: [Fuzzer] = []
    #endif
}
