// SPDX-License-Identifier: Apache-2.0

import Names

/// The answer to a DNS query, in parts that faults can change before encoding.
struct DNSAnswer {
    private typealias RecordType = TestDNSMessage.RecordType
    private typealias Record = TestDNSMessage.Record

    private let query: TestDNSMessage.Query
    private let fault: UpstreamFault.MessageFault?
    private var id: UInt16
    /// QR, RD and RA are set.
    private var flags: UInt16 = 0x8180
    private var question: [UInt8]
    private var records: [TestDNSMessage.Record] = []
    private var authority: [TestDNSMessage.Record] = []
    /// The value of ANCOUNT; nil: the actual count.
    private var count: UInt16?

    /// Creates an answer, which is correct if there is no fault.
    init(_ query: TestDNSMessage.Query, _ finding: Zone.Finding, fault: UpstreamFault.MessageFault? = nil) {
        self.query = query
        self.fault = fault
        id = query.id
        question = query.question
        flags |= UInt16(finding.code.rawValue)
        records = finding.aliases.map { alias in
            Record(
                owner: TestDNSMessage.encode(name: alias.owner),
                type: RecordType.cname,
                ttl: alias.ttl,
                data: TestDNSMessage.encode(name: alias.target)
            )
        }
        let addresses =
            switch query.type {
            case RecordType.a: finding.addresses(.v4)
            case RecordType.aaaa: finding.addresses(.v6)
            default: [] as [IPAddress]
            }
        let owner =
            finding.aliases.isEmpty ? TestDNSMessage.questionPointer : TestDNSMessage.encode(name: finding.owner)
        records += addresses.map { Record(owner: owner, type: query.type, ttl: finding.ttl, data: $0.octets) }
        if addresses.isEmpty, finding.code != .failure { authority = [Self.startOfAuthority] }
        if let fault { apply(fault) }
    }

    private mutating func apply(_ fault: UpstreamFault.MessageFault) {
        if records.isEmpty {
            // Most faults need a record.
            let address =
                query.type == RecordType.aaaa ? IPAddress(v6: 0x2001_0db8 << 32, 1) : IPAddress(v4: 0xc000_0201)
            records = [record(query.type, address.octets)]
            authority = []
        }
        switch fault {
        case .cut, .trailingBytes: break
        case .wrongID: id = ~id
        case .wrongQuestion: question = TestDNSMessage.encode(name: "elsewhere.test") + question.suffix(4)
        case .wrongOwner: eachRecord { $0.owner = TestDNSMessage.encode(name: "elsewhere.test") }
        case .wrongClass: eachRecord { $0.recordClass = 3 }
        case .isQuery: flags &= 0x7fff
        case .truncatedBit:
            flags |= 0x0200
            records = []
        case .pointerLoop:
            // The first record starts with its owner name, right after the question; the pointer points to itself.
            let position = UInt16(12 + question.count)
            eachRecord { $0.owner = TestDNSMessage.big(0xc000 | position) }
        case .aliasLoop:
            let other = TestDNSMessage.encode(name: "loop.test")
            var back = record(RecordType.cname, TestDNSMessage.questionPointer)
            back.owner = other
            records = [record(RecordType.cname, other), back]
        case .shortAddress: eachRecord { $0.data = Array($0.data.prefix(3)) }
        case .longRecord: eachRecord { $0.length = 400 }
        case .countTooHigh: count = 0xffff
        case .oversized: records = Array(repeating: records[0], count: 70_000 / records[0].bytes.count)
        }
    }

    /// The encoded message, with the faults that change it as a whole.
    var bytes: [UInt8] {
        let counts = [1, count ?? UInt16(clamping: records.count), UInt16(authority.count), 0]
        let message =
            ([id, flags] + counts).flatMap(TestDNSMessage.big) + question + (records + authority).flatMap(\.bytes)
        return switch fault {
        case .cut: Array(message.dropLast(2))
        case .trailingBytes: message + [0, 0, 0]
        default: message
        }
    }

    private func record(_ type: UInt16, _ data: [UInt8]) -> TestDNSMessage.Record {
        Record(owner: TestDNSMessage.questionPointer, type: type, ttl: 60, data: data)
    }

    private mutating func eachRecord(_ change: (inout TestDNSMessage.Record) -> Void) {
        for index in records.indices { change(&records[index]) }
    }

    /// The SOA record of a negative answer. Its MINIMUM field allows caching for 30 seconds (RFC 2308 §4).
    private static var startOfAuthority: TestDNSMessage.Record {
        let numbers: [UInt32] = [1, 7200, 900, 1_209_600, 30]
        let data =
            TestDNSMessage.encode(name: "ns.test") + TestDNSMessage.encode(name: "mail.test")
            + numbers.flatMap { TestDNSMessage.big(UInt16($0 >> 16)) + TestDNSMessage.big(UInt16($0 & 0xffff)) }
        return Record(owner: TestDNSMessage.encode(name: "test"), type: RecordType.soa, ttl: 900, data: data)
    }
}
