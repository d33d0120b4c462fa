// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes

/// A wrong answer of an ``UpstreamServer`` for a name.
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
    /// The name of the fault, for test titles.
    public let description: String

    // MARK: Of HTTP

    /// Sends this reply instead of every answer.
    public static func reply(_ reply: Reply) -> UpstreamFault { .init(kind: .reply(reply), description: "reply") }
    /// An empty response with this status.
    public static func status(_ status: HTTPResponse.Status) -> UpstreamFault {
        .init(kind: .reply(.status(status)), description: "status \(status.code)")
    }
    /// 200 with bytes that are invalid in every format.
    public static let garbage = UpstreamFault(
        kind: .reply(.bytes((0..<300).map { UInt8(truncatingIfNeeded: $0 &* 167 &+ 13) })),
        description: "garbage"
    )
    /// 200 with a login page, as a captive portal sends.
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
    /// A Content-Length longer than the body, then a close.
    package static let shortBody = UpstreamFault(
        kind: .reply(Reply(fields: [.contentLength: "100"], body: ["192.0"], ending: .hangUp)),
        description: "shortBody"
    )
    /// Closes the connection instead of responding.
    public static let hangUp = UpstreamFault(kind: .reply(.raw(ending: .hangUp)), description: "hangUp")
    /// Resets the connection instead of responding.
    public static let reset = UpstreamFault(kind: .reply(.raw(ending: .reset)), description: "reset")
    /// Never responds and keeps the connection open.
    public static let silence = UpstreamFault(kind: .reply(.raw(.wait(Gate()))), description: "silence")

    // MARK: Of time and content

    /// The correct answer after the gate opens.
    public static func delayed(by gate: Gate) -> UpstreamFault { .init(kind: .delay(gate), description: "delayed") }
    /// `count` addresses of the requested family (at most 5,000), counted up from 198.51.100.1 or 2001:db8::1.
    package static func manyAddresses(_ count: Int) -> UpstreamFault {
        .init(kind: .manyAddresses(count), description: "manyAddresses")
    }
    /// The TTL as this text. A DNS message contains its low 32 bits.
    package static func ttl(_ text: String) -> UpstreamFault { .init(kind: .ttl(text), description: "ttl \(text)") }
    /// The correct answer with these header fields, such as `[.age: "290"]`. They replace fields of the same name.
    public static func fields(_ fields: HTTPFields) -> UpstreamFault {
        .init(kind: .fields(fields), description: "fields \(fields.map(\.description).joined(separator: ", "))")
    }

    // MARK: Of the DNS message

    /// The message ends within a record.
    package static let cutMessage = message(.cut)
    /// The TC bit is set, and there are no records.
    package static let truncatedBit = message(.truncatedBit)
    /// The message ID differs from the query's.
    package static let wrongID = message(.wrongID)
    /// The name in the question section differs from the query's.
    package static let wrongQuestion = message(.wrongQuestion)
    /// The records belong to another name.
    package static let wrongOwner = message(.wrongOwner)
    /// The QR bit is clear, so the message is a query.
    package static let queryInAnswer = message(.isQuery)
    /// The records have another class (CHAOS).
    package static let wrongClass = message(.wrongClass)
    /// A compressed name that points to itself.
    package static let pointerLoop = message(.pointerLoop)
    /// Two aliases that point to each other.
    package static let aliasLoop = message(.aliasLoop)
    /// An address record of 3 bytes.
    package static let shortAddress = message(.shortAddress)
    /// A record whose length exceeds the message.
    package static let longRecord = message(.longRecord)
    /// A header that announces 65,535 records although there are fewer.
    package static let countTooHigh = message(.countTooHigh)
    /// More than 64 KiB of records.
    package static let oversizedMessage = message(.oversized)
    /// Bytes after the last record.
    package static let trailingBytes = message(.trailingBytes)

    /// All DNS message faults that make the answer unusable, for parameterized tests.
    package static let brokenMessages: [UpstreamFault] = [
        .cutMessage, .wrongID, .wrongQuestion, .wrongOwner, .queryInAnswer, .wrongClass, .pointerLoop, .aliasLoop,
        .shortAddress, .longRecord, .countTooHigh, .oversizedMessage, .truncatedBit,
    ]

    /// The faults that leave no usable answer in any format, except ``silence``, for parameterized tests.
    package static let brokenResponses: [UpstreamFault] = [
        .garbage, .webPage, .hugeBody, .shortBody, .hangUp, .reset, .status(.internalServerError), .status(.notFound),
        .status(.tooManyRequests), .reply(.redirect(to: "http://192.0.2.1/d?dn=captured.test")),
    ]

    /// Applies only to the wire format of DoH (RFC 8484). Other formats ignore it.
    private static func message(_ fault: MessageFault) -> UpstreamFault {
        .init(kind: .message(fault), description: fault.rawValue)
    }
}
