// SPDX-License-Identifier: Apache-2.0

/// A DNS message (RFC 1035 §4), with the record types that an address resolver needs.
package struct DNSMessage: Hashable, Sendable {
    /// The maximum size of a message, as allowed by the TCP length prefix.
    package static let maxOctets = 65_535

    /// The flags in octets 2 and 3 of the header.
    package struct Flags: Hashable, Sendable {
        /// QR: whether the message is a response.
        package var isResponse = false
        /// The kind of query; only 0 is used here.
        package var opcode: UInt8 = 0
        /// AA.
        package var isAuthoritative = false
        /// TC: whether the message is truncated.
        package var isTruncated = false
        /// RD.
        package var recursionDesired = true
        /// RA.
        package var recursionAvailable = false
        /// Z, AD and CD.
        package var reserved: UInt8 = 0
        /// The response code.
        package var responseCode = DNSResponseCode.noError

        /// The flags of a query.
        package init() {}
    }

    /// Matches a response to its query; 0 over HTTPS (RFC 8484 §4.1).
    package var id: UInt16
    /// The header's flags.
    package var flags: Flags
    /// The questions; a query has one.
    package var questions: [DNSQuestion]
    /// The answer section.
    package var answers: [DNSRecord]
    /// The authority section; a negative answer has its SOA here (RFC 2308 §2).
    package var authorities: [DNSRecord]
    /// The additional section, including EDNS.
    package var additionals: [DNSRecord]

    /// A message with its sections.
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

/// A question: name, type and class.
package struct DNSQuestion: Hashable, Sendable {
    /// The name.
    package var name: DNSName
    /// The record type.
    package var type: DNSType
    /// The class; 1 is the Internet.
    package var recordClass: UInt16

    /// A question of the Internet class, unless specified.
    package init(_ name: DNSName, _ type: DNSType, recordClass: UInt16 = 1) {
        self.name = name
        self.type = type
        self.recordClass = recordClass
    }
}

/// A response code.
package struct DNSResponseCode: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The number.
    package let rawValue: UInt8

    /// The response code with a number.
    package init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// Success, possibly without records.
    package static let noError = DNSResponseCode(rawValue: 0)
    /// The server could not parse the query.
    package static let formatError = DNSResponseCode(rawValue: 1)
    /// The server could not resolve the name.
    package static let serverFailure = DNSResponseCode(rawValue: 2)
    /// The name does not exist.
    package static let noSuchName = DNSResponseCode(rawValue: 3)
    /// The server does not support this kind of query.
    package static let notImplemented = DNSResponseCode(rawValue: 4)
    /// The server refuses to answer.
    package static let refused = DNSResponseCode(rawValue: 5)
    /// The server does not support the query's version of EDNS (RFC 6891 §9).
    package static let badVersion = DNSResponseCode(rawValue: 16)

    /// The standard mnemonic.
    package var description: String {
        switch self {
        case .noError: "NOERROR"
        case .formatError: "FORMERR"
        case .serverFailure: "SERVFAIL"
        case .noSuchName: "NXDOMAIN"
        case .notImplemented: "NOTIMP"
        case .refused: "REFUSED"
        case .badVersion: "BADVERS"
        default: "RCODE \(rawValue)"
        }
    }
}
