// SPDX-License-Identifier: Apache-2.0

/// How the end of a body is determined (RFC 9112 §6.3).
package enum HTTP1BodyFraming: Equatable {
    case none
    case length(Int64)
    case chunked
    /// The body ends with the connection. Only for responses.
    case untilClose
}

/// The fields that determine where a message ends and whether its connection can be reused (RFC 9112 §6, §9.3).
package struct HTTP1Framing {
    package private(set) var contentLength: Int64?
    package private(set) var hasTransferCoding = false
    /// Whether the last transfer coding is `chunked`.
    package private(set) var isChunked = false
    /// The first transfer coding that changes the body: any but `chunked` and `identity`, or any after `chunked`.
    private(set) var bodyCoding: String?
    /// Whether `chunked` is the only transfer coding, once.
    private var isOnlyChunked = false
    /// Whether Connection has `close`, which overrides ``keepsAlive``.
    package private(set) var closes = false
    /// Whether Connection has `keep-alive`.
    package private(set) var keepsAlive = false
    /// The other names in Connection, in lower case: fields of this connection only (RFC 9110 §7.6.1).
    package private(set) var connectionNames: Set<String> = []

    package init() {}

    /// The reason why other recipients might find another end of the message; nil if there is none.
    package var ambiguity: String? {
        if hasTransferCoding, !isOnlyChunked { return "Transfer-Encoding is something other than chunked" }
        if hasTransferCoding, contentLength != nil {
            return "it has two lengths, Content-Length and Transfer-Encoding"
        }
        return nil
    }

    /// Notes a field of a response. Fields with other names are ignored.
    ///
    /// - Parameter nameLimit: the maximum number of names in Connection.
    mutating func note(_ name: Bytes, value: Bytes, nameLimit: Int) throws(HTTP1Error) {
        switch name.count {
        case 10 where name.equals("connection"): try noteConnection(value, nameLimit: nameLimit)
        case 14 where name.equals("content-length"): try noteLength(value, allowsRepetition: true)
        case 17 where name.equals("transfer-encoding"): noteCodings(value)
        default: break
        }
    }

    mutating func noteCodings(_ value: Bytes) {
        let codings = value.listElements
        guard let last = codings.last else {
            // An empty field names no coding, and makes the message ambiguous.
            (hasTransferCoding, isOnlyChunked) = (true, false)
            return
        }
        isOnlyChunked = !hasTransferCoding && codings.count == 1 && value.equals("chunked")
        hasTransferCoding = true
        var wasChunked = isChunked
        for coding in codings {
            if coding.equals("chunked") {
                wasChunked = true
            } else if wasChunked || !coding.equals("identity") {
                bodyCoding = bodyCoding ?? coding.text
            }
        }
        isChunked = last.equals("chunked")
    }

    mutating func noteConnection(_ value: Bytes, nameLimit: Int) throws(HTTP1Error) {
        for name in value.listElements {
            if name.equals("close") {
                closes = true
            } else if name.equals("keep-alive") {
                keepsAlive = true
            } else {
                guard connectionNames.count < nameLimit else {
                    throw .malformed("Connection lists more than \(nameLimit) names")
                }
                connectionNames.insert(name.text.lowercased())
            }
        }
    }

    /// - Parameter allowsRepetition: whether the same length may be given several times, as in responses (RFC 9112 §6.3).
    mutating func noteLength(_ value: Bytes, allowsRepetition: Bool) throws(HTTP1Error) {
        guard contentLength == nil || allowsRepetition else { throw .malformed("it has several Content-Length fields") }
        if let length = Self.number(value) {
            guard contentLength ?? length == length else { throw .malformed("it has several lengths") }
            contentLength = length
            return
        }
        guard !value.allSatisfy(HTTPCharacters.isDigit) || value.isEmpty else {
            throw .lengthTooLarge("Content-Length \"\(value.text.prefix(40))\" does not fit 64 bits")
        }
        guard allowsRepetition, value.contains(UInt8(ascii: ",")) else {
            throw .malformed("Content-Length \"\(value.text.prefix(40))\" is not one number")
        }
        for part in value.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false) {
            guard let length = Self.number(Bytes(rebasing: part).trimmed), contentLength ?? length == length else {
                throw .malformed("Content-Length \"\(value.text.prefix(40))\" is not one number")
            }
            contentLength = length
        }
    }

    /// The number of a text of decimal digits; nil if it has other characters, or the number does not fit an Int64.
    package static func number(_ digits: Bytes) -> Int64? {
        digits.allSatisfy(HTTPCharacters.isDigit) ? Int64(digits.text) : nil
    }

    // MARK: Decisions

    /// The framing of a request's body (RFC 9112 §6.3, rules 4 to 7).
    package var ofRequest: HTTP1BodyFraming {
        if isChunked { return .chunked }
        return contentLength.map { .length($0) } ?? .none
    }

    /// The framing of a response's body (RFC 9112 §6.3, rules 1 to 8).
    package func ofResponse(toHead: Bool, status: Int) -> HTTP1BodyFraming {
        if toHead || status < 200 || status == 204 || status == 304 { return .none }
        if isChunked { return .chunked }
        // As in curl, `identity` is no coding; RFC 9112 no longer has it.
        if bodyCoding != nil { return .untilClose }
        return contentLength.map { .length($0) } ?? .untilClose
    }

    /// Whether the sender keeps the connection open after the message (RFC 9112 §9.3).
    package func keepsConnection(minorVersion: Int) -> Bool {
        !closes && (minorVersion > 0 || keepsAlive)
    }
}
