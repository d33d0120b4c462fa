// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Names

/// What ``Routes/echo(_:)`` answers as JSON: the request as it arrived.
///
/// ```swift
/// let echo = try JSONDecoder().decode(Echo.self, from: body)
/// #expect(echo.host == "a.test:8443" && echo.serverName == "a.test" && echo.address == "127.0.0.2")
/// ```
public struct Echo: Codable, Hashable, Sendable {
    /// The method.
    public var method: String
    /// The request target.
    public var target: String
    /// `HTTP/1.1` or `HTTP/2`.
    public var version: String
    /// The Host field or `:authority`.
    public var host: String?
    /// The header fields, name and value, in the order and the case of the wire.
    public var headers: [[String]]
    /// The server name of the TLS greeting.
    public var serverName: String?
    /// The protocol that ALPN settled on.
    public var applicationProtocol: String?
    /// How many bytes the body had.
    public var bodySize: Int
    /// SHA-256 of the body in hexadecimal.
    public var bodyHash: String
    /// The body where it is UTF-8 and was kept whole.
    public var body: String?
    /// The trailer fields, name and value.
    public var trailers: [[String]]
    /// The address at which the request arrived: which one was dialled.
    public var address: String
    /// The port at which it arrived.
    public var port: Int
    /// The number of the connection that brought it, from 1.
    public var connection: Int

    /// The echo of a request.
    public init(_ request: ReceivedRequest) {
        method = request.method.rawValue
        target = request.target
        version = request.version
        host = request.authority
        headers = request.fields.map { [$0.name.rawName, $0.value] }
        serverName = request.connection.serverName
        applicationProtocol = request.connection.applicationProtocol
        bodySize = request.bodySize
        bodyHash = request.bodyHash.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        let text = request.text
        body = request.bodySize == request.body.count && text.utf8.elementsEqual(request.body) ? text : nil
        trailers = request.trailers.map { [$0.name.rawName, $0.value] }
        address = "\(request.connection.local.address)"
        port = Int(request.connection.local.port)
        connection = request.connection.number
    }
}
