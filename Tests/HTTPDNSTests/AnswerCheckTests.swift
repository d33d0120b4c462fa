// SPDX-License-Identifier: Apache-2.0

import Names
import Testing

@testable import HTTPDNS

@Suite("Checks of answers")
struct AnswerCheckTests {
    @Test(
        "an address that no public name can have is refused",
        arguments: [
            "0.0.0.0", "0.1.2.3", "127.0.0.1", "127.255.255.255", "169.254.10.1", "224.0.0.1", "239.1.1.1", "240.0.0.1",
            "255.255.255.255", "::", "::1", "fe80::1", "febf::1", "ff02::1", "::ffff:127.0.0.1", "::ffff:0.0.0.0",
            "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "2002:7f00:1::1",
        ]
    )
    func bogus(_ text: String) throws {
        let address = try #require(IPAddress(text))
        var answer = Answer()
        answer[address.family] = .addresses([address], ttl: nil)
        let error = #expect(throws: UpstreamError.self) { try AnswerCheck().checked(answer) }
        #expect(error?.code == .bogusAnswer)
        #expect(error?.message.hasPrefix(address.description) == true)
        var lenient = AnswerCheck()
        lenient.allowsLocalAnswers = true
        #expect(try lenient.checked(answer) == answer)
        #expect(try AnswerCheck().checked(answer, from: .fixed) == answer)
    }

    @Test(
        "an ordinary address is accepted",
        arguments: [
            "1.1.1.1", "126.255.255.255", "128.0.0.1", "169.253.1.1", "223.255.255.255", "10.0.0.1", "192.168.1.1",
            "::2", "2001:db8::1", "fec0::1", "fd00::1", "::ffff:192.0.2.1",
        ]
    )
    func taken(_ text: String) throws {
        let address = try #require(IPAddress(text))
        var answer = Answer()
        answer[address.family] = .addresses([address], ttl: .seconds(1))
        #expect(try AnswerCheck().checked(answer) == answer)
    }

    @Test("one bogus address makes the whole answer invalid")
    func oneIsEnough() {
        #expect(throws: UpstreamError.self) { try AnswerCheck().checked(v4("192.0.2.1 127.0.0.1")) }
    }

    @Test("private addresses can be refused by configuration")
    func privateAddresses() throws {
        var check = AnswerCheck()
        check.allowsPrivateAnswers = false
        for text in ["10.0.0.1", "172.31.255.255", "192.168.0.1", "100.64.0.1"] {
            #expect(throws: UpstreamError.self) { try check.checked(v4(text)) }
        }
        #expect(try check.checked(v4("172.32.0.1")) == v4("172.32.0.1"))
    }

    @Test("networks of the user's choice can be refused by configuration")
    func refusedNetworks() throws {
        var check = AnswerCheck()
        check.refusedNetworks = [try #require(IPNetwork("198.51.100.0/24"))]
        #expect(throws: UpstreamError.self) { try check.checked(v4("198.51.100.7")) }
        #expect(try check.checked(v4("198.51.101.7")) == v4("198.51.101.7"))
    }

    @Test("the check drops repeated addresses, addresses of the other family and addresses above the limit")
    func cleans() throws {
        var check = AnswerCheck()
        check.maxAddresses = 2
        #expect(
            try check.checked(v4("192.0.2.1 2001:db8::1 192.0.2.1 192.0.2.2 192.0.2.3")) == v4("192.0.2.1 192.0.2.2")
        )
        #expect(try check.checked(v4("2001:db8::1")) == Answer(v4: .absent(.noRecord, ttl: nil)))
    }

    @Test("an answer is a value: a copy changes independently, and adding an answer fills in what is missing")
    func values() {
        let addresses = [IPAddress("192.0.2.1")].compactMap(\.self)
        let first = Answer(v4: .addresses(addresses, ttl: .seconds(60)), extra: "first")
        var second = first
        second.v6 = .absent(.noRecord, ttl: nil)
        second.extra = nil
        #expect(first.v6 == nil && first.extra == "first" && first != second)
        var sum = Answer()
        sum.add(second)
        #expect(sum == second && sum.hashValue == second.hashValue)
        sum.add(Answer(v4: .absent(.noName, ttl: nil), clientAddress: addresses.first))
        #expect(sum == Answer(v4: .absent(.noName, ttl: nil), v6: second.v6, clientAddress: addresses.first))
        #expect(sum.hasAddresses(of: .both) == false && second.hasAddresses(of: .v4) && !second.hasAddresses(of: .v6))
    }
}
