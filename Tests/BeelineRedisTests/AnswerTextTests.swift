// SPDX-License-Identifier: Apache-2.0

#if Redis
import BeelineTesting
import HTTPDNS
import Names
import Testing

@testable import BeelineRedis

@Suite("The text of a shared answer", .timeLimit(.minutes(1)))
struct AnswerTextTests {
    @Test("an answer without a TTL is not shared, and one that has almost expired is not used")
    func texts() throws {
        let two = Answer.Records.addresses([AnswerLab.address, IPAddress(v4: 0xc633_6402)], ttl: .seconds(100))
        let written = try #require(AnswerText.write(two, maxTTL: .seconds(86_400)))
        #expect(written.text == "100 198.51.100.1 198.51.100.2" && written.ttl == .seconds(100))
        let octets = Array(written.text.utf8)
        #expect(AnswerText.read(octets, .v4, left: .seconds(90))?.addresses == two.addresses)
        #expect(AnswerText.read(octets, .v4, left: .seconds(90))?.ttl == .seconds(90))
        let refused: [(String, IPAddress.Family, Duration, String)] = [
            (written.text, .v4, .seconds(10), "a tenth is left"),
            (written.text, .v4, .seconds(101), "more is left than there ever was"),
            (written.text, .v4, .milliseconds(-2), "the key is gone"),
            (written.text, .v6, .seconds(90), "the other family"),
            ("100", .v4, .seconds(90), "no address"), ("100 none none", .v4, .seconds(90), "two words"),
            ("100 198.51.100.1 x", .v4, .seconds(90), "no address"), ("x 198.51.100.1", .v4, .seconds(90), "no TTL"),
        ]
        for (text, family, left, why) in refused {
            #expect(AnswerText.read(Array(text.utf8), family, left: left) == nil, "\(why)")
        }
        #expect(AnswerText.write(.addresses([AnswerLab.address], ttl: nil), maxTTL: .seconds(60)) == nil)
        #expect(AnswerText.write(.addresses([AnswerLab.address], ttl: .zero), maxTTL: .seconds(60)) == nil)
        #expect(AnswerText.write(two, maxTTL: .seconds(60))?.ttl == .seconds(60))
    }

    @Test("no text makes the reader trap, and each accepted text is written the same again")
    func fuzz() {
        var random = SeededRandom(seed: 6_379)
        let seeds = ["100 198.51.100.1 198.51.100.2", "7 2001:db8::1", "30 none", "5 noname"].map { Array($0.utf8) }
        for _ in 0..<FuzzRounds.count(ordinary: 20_000) {
            var octets = seeds[Int.random(in: 0..<seeds.count, using: &random)]
            for _ in 0...Int.random(in: 0..<3, using: &random) {
                let place = Int.random(in: 0..<octets.count, using: &random)
                octets[place] = UInt8.random(in: .min ... .max, using: &random)
            }
            let family: IPAddress.Family = Bool.random(using: &random) ? .v4 : .v6
            guard let records = AnswerText.read(octets, family, left: .seconds(5)) else { continue }
            let again = AnswerText.write(records, maxTTL: .seconds(86_400))
            #expect(again.flatMap { AnswerText.read(Array($0.text.utf8), family, left: .seconds(5)) } == records)
        }
    }
}
#endif
