// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes

/// A complete request that a test server received.
public struct ReceivedRequest: Sendable {
    /// The method.
    public var method: HTTPRequest.Method
    /// The request target as sent: a path with its query, an absolute URL (to a proxy) or an authority (CONNECT).
    public var target: String
    /// `HTTP/1.1`, `HTTP/1.0` or `HTTP/2`.
    package var version: String
    /// The header fields in the received order and letter case, without HTTP/2's pseudo-header fields.
    public var fields: HTTPFields
    /// The trailer fields.
    public var trailers: HTTPFields = [:]
    /// The Host field, or `:authority` in HTTP/2.
    public var authority: String?
    /// The raw head, decoded as Latin-1; empty for HTTP/2.
    package var rawHead = ""
    /// The body. At most 1 MiB is kept; the rest is read and discarded.
    public var body: [UInt8] = []
    /// The size of the whole body, in bytes.
    package var bodySize = 0
    /// The SHA-256 hash of the whole body.
    package var bodyHash: [UInt8] = []
    /// The connection of the request.
    public var connection: Connection

    /// The target without its query.
    public var path: String { String(target.prefix { $0 != "?" }) }

    /// The percent-decoded query parameters. If a name repeats, its last value is used.
    public var query: [String: String] {
        guard let mark = target.firstIndex(of: "?") else { return [:] }
        return FormText.decode(target[target.index(after: mark)...])
    }

    /// The body as text. Invalid UTF-8 becomes U+FFFD.
    public var text: String { String(decoding: body, as: UTF8.self) }

    /// The parameters of an `application/x-www-form-urlencoded` body.
    public var form: [String: String] { FormText.decode(text) }

    /// The cookies of the Cookie fields by name.
    public var cookies: [String: String] {
        var result: [String: String] = [:]
        for line in fields[values: .cookie] {
            for pair in line.split(separator: ";") {
                let pair = pair.drop { $0 == " " }
                guard let equals = pair.firstIndex(of: "=") else { continue }
                result[String(pair[..<equals])] = String(pair[pair.index(after: equals)...])
            }
        }
        return result
    }
}
