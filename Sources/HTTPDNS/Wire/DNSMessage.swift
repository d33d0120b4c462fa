// SPDX-License-Identifier: Apache-2.0

/// A DNS message (RFC 1035 §4), decoded and checked, with the record types that a resolver of addresses reads.
package struct DNSMessage: Hashable, Sendable {
    /// The largest message that is read or written: what a TCP length prefix can say.
    package static let maxOctets = 65_535

    /// Fields of the second and third octet pair of the header.
    package struct Flags: Hashable, Sendable {
        /// QR: whether the message is a response.
        package var isResponse = false
        /// The kind of query; 0 is the only one used here.
        package var opcode: UInt8 = 0
        /// AA.
        package var isAuthoritative = false
        /// TC: the rest did not fit.
        package var isTruncated = false
        /// RD.
        package var recursionDesired = true
        /// RA.
        package var recursionAvailable = false
        /// Z, AD and CD, as they stand in the header.
        package var reserved: UInt8 = 0
        /// The outcome.
        package var responseCode = DNSResponseCode.noError

        /// The flags of a query.
        package init() {}
    }

    /// Matches a response to its query; 0 over HTTPS (RFC 8484 §4.1).
    package var id: UInt16
    /// The header's flags.
    package var flags: Flags
    /// What is asked; a query of ours has one.
    package var questions: [DNSQuestion]
    /// Records that answer.
    package var answers: [DNSRecord]
    /// Records that say who is responsible; a negative answer has its SOA here (RFC 2308 §2).
    package var authorities: [DNSRecord]
    /// Everything else, EDNS included.
    package var additionals: [DNSRecord]

    /// A message of parts.
    package init(
        id: UInt16 = 0,
        flags: Flags = Flags(),
        questions: [DNSQuestion],
        answers: [DNSRecord] = [],
        authorities: [DNSRecord] = [],
        additionals: [DNSRecord] = []
    ) {
        self.id = id
        self.flags = flags
        self.questions = questions
        self.answers = answers
        self.authorities = authorities
        self.additionals = additionals
    }
}

/// A name, a type and a class that are asked for.
package struct DNSQuestion: Hashable, Sendable {
    /// The name.
    package var name: DNSName
    /// The record type.
    package var type: DNSType
    /// 1 is the Internet.
    package var recordClass: UInt16

    /// A question of the Internet class.
    package init(_ name: DNSName, _ type: DNSType, recordClass: UInt16 = 1) {
        self.name = name
        self.type = type
        self.recordClass = recordClass
    }
}

/// The number of a record type.
package struct DNSType: RawRepresentable, Hashable, Sendable {
    /// The number.
    package let rawValue: UInt16

    /// The type or outcome of this number.
    package init(rawValue: UInt16) {
        self.rawValue = rawValue
    }

    /// An IPv4 address.
    package static let a = DNSType(rawValue: 1)
    /// The name's other, true name.
    package static let cname = DNSType(rawValue: 5)
    /// Start of authority.
    package static let soa = DNSType(rawValue: 6)
    /// An IPv6 address (RFC 3596).
    package static let aaaa = DNSType(rawValue: 28)
    /// EDNS (RFC 6891).
    package static let opt = DNSType(rawValue: 41)
}

/// The outcome of a query.
package struct DNSResponseCode: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The number.
    package let rawValue: UInt8

    /// The type or outcome of this number.
    package init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// The question is answered, perhaps by "no such record".
    package static let noError = DNSResponseCode(rawValue: 0)
    /// The query was not understood.
    package static let formatError = DNSResponseCode(rawValue: 1)
    /// The resolver could not find out.
    package static let serverFailure = DNSResponseCode(rawValue: 2)
    /// There is no such name.
    package static let noSuchName = DNSResponseCode(rawValue: 3)
    /// The kind of query is not served.
    package static let notImplemented = DNSResponseCode(rawValue: 4)
    /// The resolver does not answer us.
    package static let refused = DNSResponseCode(rawValue: 5)

    /// The name that tools print.
    package var description: String {
        switch self {
        case .noError: "NOERROR"
        case .formatError: "FORMERR"
        case .serverFailure: "SERVFAIL"
        case .noSuchName: "NXDOMAIN"
        case .notImplemented: "NOTIMP"
        case .refused: "REFUSED"
        default: "RCODE \(rawValue)"
        }
    }
}
