// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes

/// A request as a double received it, whole.
public struct ReceivedRequest: Sendable {
    /// The method.
    public var method: HTTPRequest.Method
    /// The request target as it was written: a path with its query, an absolute URL (to a proxy) or an authority
    /// (CONNECT).
    public var target: String
    /// `HTTP/1.1`, `HTTP/1.0` or `HTTP/2`.
    public var version: String
    /// The header fields in the order and the letter case of the wire. HTTP/2's pseudo header fields are not in it.
    public var fields: HTTPFields
    /// The trailer fields.
    public var trailers: HTTPFields = [:]
    /// Where the request says that it goes: the Host field, or `:authority` of HTTP/2.
    public var authority: String?
    /// The head byte for byte, read as Latin-1; empty for HTTP/2.
    public var rawHead = ""
    /// The body up to the server's limit; ``bodySize`` and ``bodyHash`` are of the whole.
    public var body: [UInt8] = []
    /// How many bytes the body had.
    public var bodySize = 0
    /// SHA-256 of the whole body.
    public var bodyHash: [UInt8] = []
    /// The connection that brought it.
    public var connection: ConnectionInfo

    /// The target up to its query.
    public var path: String { String(target.prefix { $0 != "?" }) }

    /// The parts of the target's query by name, percent-decoded; of several with one name the last.
    public var query: [String: String] {
        guard let mark = target.firstIndex(of: "?") else { return [:] }
        return FormText.decode(target[target.index(after: mark)...])
    }

    /// The body as text; what is not UTF-8 becomes U+FFFD.
    public var text: String { String(decoding: body, as: UTF8.self) }

    /// The parts of a body of type `application/x-www-form-urlencoded`.
    public var form: [String: String] { FormText.decode(text) }

    /// The cookies of its Cookie fields by name.
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
