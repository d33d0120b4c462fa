// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes

/// How an ``UpstreamServer`` answers a name wrongly.
///
/// The faults of a DNS message show in the wire form of DoH only; the other forms, which have no such message, answer
/// as if there were none.
public struct UpstreamFault: Sendable, CustomStringConvertible {
    enum Kind: Sendable {
        case reply(Reply)
        case delay(Gate)
        case message(MessageFault)
        case manyAddresses(Int)
        case ttl(String)
        case fields(HTTPFields)
    }

    enum MessageFault: String, CaseIterable, Sendable {
        case cut, truncatedBit, wrongID, wrongQuestion, wrongOwner, isQuery, pointerLoop, aliasLoop, shortAddress
        case longRecord, countTooHigh, oversized, trailingBytes, wrongClass
    }

    let kind: Kind
    /// The fault's name, for the titles of tests.
    public let description: String

    // MARK: Of HTTP

    /// A reply of one's own in place of every answer.
    public static func reply(_ reply: Reply) -> UpstreamFault { .init(kind: .reply(reply), description: "reply") }
    /// An empty response with a status.
    public static func status(_ status: HTTPResponse.Status) -> UpstreamFault {
        .init(kind: .reply(.status(status)), description: "status \(status.code)")
    }
    /// 200 with bytes that are none of the forms.
    public static let garbage = UpstreamFault(
        kind: .reply(.bytes((0..<300).map { UInt8(truncatingIfNeeded: $0 &* 167 &+ 13) })),
        description: "garbage"
    )
    /// 200 with a log-in page, as a captive portal answers.
    public static let webPage = UpstreamFault(
        kind: .reply(
            Reply(fields: [.contentType: "text/html"], body: ["<html><body>Log in to use this network</body></html>"])
        ),
        description: "webPage"
    )
    /// 200 without a body.
    public static let empty = UpstreamFault(kind: .reply(Reply()), description: "empty")
    /// 200 with a body of 128 KiB of text.
    public static let hugeBody = UpstreamFault(
        kind: .reply(.text(String(repeating: "192.0.2.1;", count: 13_108))),
        description: "hugeBody"
    )
    /// A Content-Length longer than the body, then the end of the connection.
    public static let shortBody = UpstreamFault(
        kind: .reply(Reply(fields: [.contentLength: "100"], body: ["192.0"], ending: .hangUp)),
        description: "shortBody"
    )
    /// The connection is closed in place of a response.
    public static let hangUp = UpstreamFault(kind: .reply(.raw(ending: .hangUp)), description: "hangUp")
    /// The connection is reset in place of a response.
    public static let reset = UpstreamFault(kind: .reply(.raw(ending: .reset)), description: "reset")
    /// No response ever comes; the connection stays open.
    public static let silence = UpstreamFault(kind: .reply(.raw(.wait(Gate()))), description: "silence")

    // MARK: Of time and content

    /// The right answer, when the gate opens.
    public static func delayed(by gate: Gate) -> UpstreamFault { .init(kind: .delay(gate), description: "delayed") }
    /// So many addresses of the family that was asked for (at most 5,000), counted up from 198.51.100.1 or 2001:db8::1.
    public static func manyAddresses(_ count: Int) -> UpstreamFault {
        .init(kind: .manyAddresses(count), description: "manyAddresses")
    }
    /// A TTL that is written so where the form is text; in a DNS message its low 32 bits.
    public static func ttl(_ text: String) -> UpstreamFault { .init(kind: .ttl(text), description: "ttl \(text)") }
    /// The right answer with header fields of one's own, such as `[.age: "290"]`; they replace those of the same name.
    public static func fields(_ fields: HTTPFields) -> UpstreamFault {
        .init(kind: .fields(fields), description: "fields \(fields.map(\.description).joined(separator: ", "))")
    }

    // MARK: Of the DNS message

    /// The message ends within a record.
    public static let cutMessage = message(.cut)
    /// The TC bit is set and there are no records.
    public static let truncatedBit = message(.truncatedBit)
    /// Another message ID than the query's.
    public static let wrongID = message(.wrongID)
    /// The question section holds another name than the query's.
    public static let wrongQuestion = message(.wrongQuestion)
    /// The records belong to a name that nobody asked for.
    public static let wrongOwner = message(.wrongOwner)
    /// The QR bit is clear: a query, not an answer.
    public static let queryInAnswer = message(.isQuery)
    /// The records are of another class (CHAOS).
    public static let wrongClass = message(.wrongClass)
    /// A compressed name that points to itself.
    public static let pointerLoop = message(.pointerLoop)
    /// Two aliases of each other.
    public static let aliasLoop = message(.aliasLoop)
    /// An address record of 3 bytes.
    public static let shortAddress = message(.shortAddress)
    /// A record that says it is longer than the message.
    public static let longRecord = message(.longRecord)
    /// A header that announces 65,535 records where there is one.
    public static let countTooHigh = message(.countTooHigh)
    /// More than 64 KiB of records.
    public static let oversizedMessage = message(.oversized)
    /// Bytes after the last record.
    public static let trailingBytes = message(.trailingBytes)

    /// The faults of a DNS message that make the answer unusable, for tables.
    public static let brokenMessages: [UpstreamFault] = [
        .cutMessage, .wrongID, .wrongQuestion, .wrongOwner, .queryInAnswer, .wrongClass, .pointerLoop, .aliasLoop,
        .shortAddress, .longRecord, .countTooHigh, .oversizedMessage, .truncatedBit,
    ]

    /// The faults below any form that leave no answer, ``silence`` excepted, for tables.
    public static let brokenResponses: [UpstreamFault] = [
        .garbage, .webPage, .hugeBody, .shortBody, .hangUp, .reset, .status(.internalServerError), .status(.notFound),
        .status(.tooManyRequests), .reply(.redirect(to: "http://192.0.2.1/d?dn=captured.test")),
    ]

    private static func message(_ fault: MessageFault) -> UpstreamFault {
        .init(kind: .message(fault), description: fault.rawValue)
    }
}
