// SPDX-License-Identifier: Apache-2.0

package import HTTPDNS
import Names

/// Looks up the records of one type, as text, for tools.
package struct RecordLookup: Sendable {
    /// The names of its members in JSON are stable within a major version.
    package struct Record: Hashable, Sendable, Encodable {
        /// The owner, without the final dot.
        package var name: String
        /// The name of the type, or `TYPEnn`.
        package var type: String
        package var ttl: UInt32
        /// The content as in a master file (RFC 1035 §5.1).
        package var data: String
    }

    package struct Outcome: Hashable, Sendable {
        /// The name of the response code, such as `NXDOMAIN`.
        package var code: String
        /// The records of the answer, including aliases and, if they were asked for, signatures.
        package var records: [Record]
        /// Whether an upstream reports that it has validated the answer.
        package var isVerified: Bool
        /// The number and the text of each extended error (RFC 8914).
        package var errors: [String]
        /// The errors in words, such as `DNSSEC Bogus (6)`.
        package var reasons: [String]
        /// Why upstreams gave no answer, if none gave one.
        package var failures: [ResolutionError.Failure]
        /// Whether the lookup failed. A name without records has not failed.
        package var isFailure: Bool
    }

    private let answerer: Answerer
    private let type: DNSType

    /// A lookup through a resolver's upstreams. Nil if `type` is not a record type.
    ///
    /// - Throws: Nothing in practice, because it reads no zone files.
    package init?(_ type: String, resolver: Resolver) throws(ServerError) {
        guard let type = DNSType(label: type), type != .any, type != .opt else { return nil }
        self.type = type
        // The user asked for this type.
        answerer = Answerer(
            backend: NameBackend(resolver),
            zones: try ZoneFiles([]),
            privateNames: .forAll,
            deniesTurnedOff: false
        ).serving(IPAddress(v4: 0))
    }

    package static func isName(_ text: String) -> Bool { DNSName(asked: text) != nil }

    /// The records of a name; nil if the text is not a name.
    package func records(of name: String) async -> Outcome? {
        guard let name = DNSName(asked: name) else { return nil }
        var query = MessageQuery(DNSQuestion(name, type))
        query.wantsVerdict = true
        let answer = await answerer.answer(query)
        return Outcome(
            code: answer.code.description,
            records: answer.answers.map { record in
                Record(
                    name: record.name.description,
                    type: record.type.label,
                    ttl: record.ttl,
                    data: RecordText.content(of: record)
                )
            },
            isVerified: answer.isVerified,
            errors: answer.errors.map { error in
                let text = String(decoding: error.text, as: UTF8.self)
                return text.isEmpty ? "\(error.code)" : "\(error.code) \(text)"
            },
            reasons: answer.errors.map { error in
                let text = String(decoding: error.text, as: UTF8.self)
                let name = error.purpose.map { "\($0) (\(error.code))" } ?? "extended error \(error.code)"
                return text.isEmpty ? name : "\(name): \(text)"
            },
            failures: answer.failures,
            isFailure: answer.isFailure && answer.code != .noSuchName
        )
    }
}
