// SPDX-License-Identifier: Apache-2.0

import Names
import Testing

@Suite("Base64 (RFC 4648)")
struct Base64Tests {
    @Test(
        "the vectors of §10 are encoded and decoded",
        arguments: [
            ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ]
    )
    func vectors(plain: String, coded: String) {
        #expect(Base64.encode(plain.utf8) == coded)
        #expect(Base64.decode(coded) == Array(plain.utf8))
        #expect(Base64.decodePadded(coded) == Array(plain.utf8))
        #expect(Base64.decodeCredentials(coded.utf8) == Array(plain.utf8))
    }

    @Test("octets of every length are encoded and decoded, also after a prefix")
    func lengths() throws {
        for count in 0...40 {
            let octets = (0..<count).map { UInt8(truncatingIfNeeded: 255 &- $0 &* 37) }
            #expect(Base64.decodePadded(Base64.encode(octets)) == octets)
            let text = Base64.urlSafe(octets, after: "/q?d=")
            #expect(text.hasPrefix("/q?d="))
            #expect(Base64.decode(text.dropFirst(5)) == octets)
            #expect(text.utf8.count == 5 + (count * 4 + 2) / 3)
        }
    }

    @Test("the URL-safe form uses - and _ and no padding")
    func urlForm() {
        #expect(Base64.encode([0xfb, 0xff]) == "+/8=")
        #expect(Base64.urlSafe([0xfb, 0xff]) == "-_8")
        #expect(Base64.decode("-_8") == [0xfb, 0xff])
    }

    @Test(
        "each decoder accepts the deviations that its protocol allows",
        arguments: [
            ("Zg", true, false, true, "no padding"),
            ("Zg=", true, false, false, "half of the padding"),
            ("Zg===", false, false, false, "too much padding"),
            ("Zh==", false, false, true, "bits that are left over"),
            ("-_8=", true, false, false, "the digits of URLs"),
            ("Z", false, false, false, "a digit alone"),
            ("Zg==Zg==", false, false, false, "padding inside"),
            ("Z g=", false, false, false, "a space"),
        ]
    )
    func leniency(text: String, lenient: Bool, padded: Bool, credentials: Bool, _ what: String) {
        #expect((Base64.decode(text) != nil) == lenient, "\(what)")
        #expect((Base64.decodePadded(text) != nil) == padded, "\(what)")
        #expect((Base64.decodeCredentials(text.utf8) != nil) == credentials, "\(what)")
    }

    @Test("octets of every length are decoded as they were encoded")
    func roundTrip() {
        for length in 0..<300 {
            let octets = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 101 &+ length &* 37) }
            #expect(Base64.decode(Base64.urlSafe(octets)) == octets)
            #expect(Base64.decodePadded(Base64.encode(octets)) == octets)
        }
    }
}
