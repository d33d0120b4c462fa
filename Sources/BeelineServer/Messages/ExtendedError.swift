// SPDX-License-Identifier: Apache-2.0

import HTTPDNS
import Names

/// An extended DNS error (RFC 8914): why a response is an error, or is stale.
struct ExtendedError: Hashable, Sendable {
    var code: UInt16
    /// The EXTRA-TEXT in UTF-8.
    var text: [UInt8] = []

    /// The maximum length of a text to pass on, in octets.
    static let maxText = 64
    /// The maximum number of errors to pass on.
    static let maxCount = 2
    /// The number of the EDNS option.
    private static let optionCode: UInt16 = 15

    static let staleAnswer = ExtendedError(code: 3)
    static let forgedAnswer = ExtendedError(code: 4)
    static let blocked = ExtendedError(code: 15)
    static let prohibited = ExtendedError(code: 18)
    static let staleAbsence = ExtendedError(code: 19)
    static let notAuthoritative = ExtendedError(code: 20)
    static let unsupported = ExtendedError(code: 21)
    static let noReachableServer = ExtendedError(code: 22)

    /// The purposes of the codes from 0 on (RFC 8914 §4).
    private static let purposes = [
        "Other Error", "Unsupported DNSKEY Algorithm", "Unsupported DS Digest Type", "Stale Answer", "Forged Answer",
        "DNSSEC Indeterminate", "DNSSEC Bogus", "Signature Expired", "Signature Not Yet Valid", "DNSKEY Missing",
        "RRSIGs Missing", "No Zone Key Bit Set", "NSEC Missing", "Cached Error", "Not Ready", "Blocked", "Censored",
        "Filtered", "Prohibited", "Stale NXDOMAIN Answer", "Not Authoritative", "Not Supported",
        "No Reachable Authority", "Network Error", "Invalid Data",
    ]

    /// The purpose of the code, such as `DNSSEC Bogus`; nil for codes that RFC 8914 does not have.
    var purpose: String? { Self.purposes.indices.contains(Int(code)) ? Self.purposes[Int(code)] : nil }

    static func errors(in message: DNSMessage) -> [ExtendedError] {
        guard case .other(_, let octets)? = message.additionals.first(where: { $0.type == .opt })?.data else {
            return []
        }
        var errors: [ExtendedError] = []
        QueryOptions.forEach(in: octets[...]) { code, value in
            guard code == optionCode, value.count >= 2, errors.count < maxCount else { return }
            let text = value.dropFirst(2).prefix(maxText)
            errors.append(
                ExtendedError(
                    code: UInt16(value[value.startIndex]) << 8 | UInt16(value[value.startIndex + 1]),
                    text: String(validUTF8: text) == nil ? [] : Array(text)
                )
            )
        }
        return errors
    }

    /// The error for a failed lookup of addresses; nil if it has no number.
    init?(_ error: ResolutionError.Code) {
        switch error {
        case .bogusAnswer: self = .forgedAnswer
        case .allUpstreamsFailed, .timeLimit: self = .noReachableServer
        default: return nil
        }
    }

    /// The EDNS option (RFC 8914 §2).
    var option: EDNS.Option { EDNS.Option(Self.optionCode, [UInt8(code >> 8), UInt8(code & 0xff)] + text) }

    init(code: UInt16, text: [UInt8] = []) {
        self.code = code
        self.text = text
    }
}
