// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import NIOConcurrencyHelpers
import Names
import Testing

@testable import HTTPDNS

/// Test vectors from the services' documentation and programs.
@Suite("Signatures and encryption")
struct SigningTests {
    @Test(
        "MD5 signatures match those of Aliyun's version 1, of Baidu and of services with the same form",
        arguments: [
            ("www.aliyun.com", "IAmASecret", 1_534_316_400, "60c71e98b6d7fcbb366243e224eab457"),
            ("www.aliyun.com,www.taobao.com", "IAmASecret", 1_534_316_400, "12a3f6b1b14a46ca813ca6439beb59a4"),
            ("www.yunaq.com", "oB1q6EF8rGUpd1qxBtcm", 1_576_468_800, "1f8c93f4853b8a9cc179b54ea7e0e2f6"),
            ("www.baidu.com", "1234567890", 1_513_602_734, "9d4eac35c33b8fa1610476ff1532643d"),
        ]
    )
    func aliyun(_ names: String, _ secret: String, _ expiry: Int64, _ signature: String) {
        #expect(Digests.signature(names, secret: secret, time: expiry) == signature)
    }

    @Test("the MD5 signature matches Volcengine's, with sorted values and empty ones included")
    func volcengine() {
        let values = ["QlgAuFMwNUwN", "1566808387000", "1023", "www.a.com,www.b.com", "", ""]
        #expect(VolcengineUpstream.signature(values) == "4b00a808d49a334991b7e50d324a9287")
    }

    static let key = Array(UInt8(0)..<16)

    @Test("the HMAC-SHA256 signature matches that of Aliyun's version 2")
    func aliyun2() {
        let fields = [
            "id": "100000", "m": "0", "dn": "www.example.com", "q": "4,6", "exp": "1700000600", "v": "1.0",
            "sid": "unsigned", "tags": "",
        ]
        #expect(
            Aliyun2Upstream.signature(fields, key: Self.key)
                == "13a3ab3b4ce220bc8253481e51e9156ca8b39e05cd2803168543304e7de1a15b"
        )
    }

    static let question = Array(#"{"dn":"www.example.com","q":"4,6"}"#.utf8)

    @Test(
        "AES matches that of Aliyun's version 2",
        arguments: [
            (
                AESCipher.Mode.cbc, "101112131415161718191a1b1c1d1e1f",
                "101112131415161718191a1b1c1d1e1f"
                    + "4a3bd6d0ce0473452fc77e35a52ff82fd02de117d8e7772cbfe3272157706e70"
                    + "18b6b5a36d9bc1718a3e2d466076edb6"
            ),
            (
                .gcm, "202122232425262728292a2b",
                "202122232425262728292a2bbbd776caa4ca5b7ecc3fa1b109aef90ea4d45bfde93b08c84512e52d8577c16d"
                    + "6af9b286b3e18f027e7b70e639bb79a571e4"
            ),
        ]
    )
    func aes(_ mode: AESCipher.Mode, _ vector: String, _ sealed: String) throws {
        let cipher = try #require(AESCipher(mode, key: Self.key))
        let octets = try #require(Hex.decode(sealed))
        #expect(Hex.encode(try cipher.seal(Self.question, vector: Hex.decode(vector))) == sealed)
        #expect(cipher.open(octets) == Self.question)
        #expect(cipher.open(try cipher.seal(Self.question)) == Self.question)
        #expect(cipher.open(Array(octets.dropLast())) == nil)
        #expect(cipher.open([]) == nil)
        #expect(AESCipher(mode, key: [1, 2, 3]) == nil)
    }

    @Test("GCM refuses a modified ciphertext")
    func gcmIsAuthenticated() throws {
        let cipher = try #require(AESCipher(.gcm, key: Self.key))
        let sealed = try cipher.seal(Self.question)
        for index in sealed.indices {
            var changed = sealed
            changed[index] ^= 1
            #expect(cipher.open(changed) == nil)
        }
    }

    @Test("AES matches DNSPod's")
    func dnspodAES() throws {
        let cipher = try #require(DNSPodForm.aes(id: "1", key: "0123456789abcdef").cipher)
        let text = Array("www.example.com;1700000600".utf8)
        let sealed = try cipher.seal(text, vector: Hex.decode("101112131415161718191a1b1c1d1e1f"))
        #expect(
            Hex.encode(sealed)
                == "101112131415161718191a1b1c1d1e1f"
                + "a4cbd9140dc22a2e3b28194a70dcb1ff86de6f96a3a181378d729b31e5a4e63f"
        )
        #expect(cipher.open(sealed) == text)
    }

    @Test("any octets are decrypted or refused, without a trap")
    func fuzz() throws {
        var fuzz = Fuzz(seed: 46)
        let ciphers = [try #require(AESCipher(.cbc, key: Self.key)), try #require(AESCipher(.gcm, key: Self.key))]
        for _ in 0..<Fuzz.rounds / 10 {
            let octets = (0..<fuzz.below(80)).map { _ in UInt8(truncatingIfNeeded: fuzz.next()) }
            for cipher in ciphers { _ = cipher.open(octets) }
        }
    }

    @Test(
        "HTTP dates are read",
        arguments: [
            ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
            ("Tue, 29 Feb 2028 12:00:00 GMT", 1_835_438_400), ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799),
            ("Sunday, 06-Nov-94 08:49:37 GMT", nil), ("Sun, 06 Nov 1994 24:00:00 GMT", nil), ("", nil),
            ("Sun, 06 Foo 1994 08:49:37 GMT", nil), ("Sun, 06 Nov 1994 08:49:37 UTC", nil),
            ("Sun, 06 Nov 1994 +8:49:37 GMT", nil), ("Mon, 06 Nov 1994 08:49:37 GMT", nil),
            ("Thu, 31 Feb 2028 12:00:00 GMT", nil),
        ] as [(String, Int64?)]
    )
    func dates(_ text: String, _ seconds: Int64?) {
        #expect(HTTPDate.seconds(text) == seconds)
    }

    @Test("the signing clock is set by the date of a reply when they differ")
    func signingClock() {
        let clock = SigningClock { 784_111_777 - 3_600 }
        let reply = { UpstreamReply(status: 403, fields: [.date: $0], body: []) }
        #expect(!clock.correct(by: UpstreamReply(status: 403, body: []), signedWith: 0))
        #expect(clock.correct(by: reply("Sun, 06 Nov 1994 08:49:37 GMT"), signedWith: 0))
        // A second question, signed before the clock was set, must be signed again, too.
        #expect(clock.correct(by: reply("Sun, 06 Nov 1994 08:49:37 GMT"), signedWith: 0))
        #expect(clock.now == 784_111_777)
        #expect(!clock.correct(by: reply("Sun, 06 Nov 1994 08:49:39 GMT"), signedWith: clock.correction))
    }
}
