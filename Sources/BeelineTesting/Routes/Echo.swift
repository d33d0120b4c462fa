// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Names

/// The JSON reply of ``Routes/echo(_:)``: the request as received.
///
/// ```swift
/// let echo = try JSONDecoder().decode(Echo.self, from: body)
/// #expect(echo.host == "a.test:8443" && echo.serverName == "a.test" && echo.address == "127.0.0.2")
/// ```
package struct Echo: Codable, Hashable, Sendable {
    /// The method.
    package var method: String
    /// The request target.
    package var target: String
    /// `HTTP/1.1` or `HTTP/2`.
    package var version: String
    /// The Host field or `:authority`.
    package var host: String?
    /// The header fields, each as name and value, in the received order and letter case.
    package var headers: [[String]]
    /// The server name in the TLS ClientHello.
    package var serverName: String?
    /// The protocol that ALPN negotiated.
    package var applicationProtocol: String?
    /// The size of the body in bytes.
    package var bodySize: Int
    /// The SHA-256 hash of the body in hexadecimal.
    package var bodyHash: String
    /// The body if it is UTF-8 and was not cut; otherwise nil.
    package var body: String?
    /// The trailer fields, each as name and value.
    package var trailers: [[String]]
    /// The server address that the client connected to.
    package var address: String
    /// The server port that the client connected to.
    package var port: Int
    /// The number of the connection, from 1.
    package var connection: Int

    /// Creates the echo of a request.
    package init(_ request: ReceivedRequest) {
        method = request.method.rawValue
        target = request.target
        version = request.version
        host = request.authority
        headers = request.fields.map { [$0.name.rawName, $0.value] }
        serverName = request.connection.serverName
        applicationProtocol = request.connection.applicationProtocol
        bodySize = request.bodySize
        bodyHash = Hex.encode(request.bodyHash)
        let text = request.text
        body = request.bodySize == request.body.count && text.utf8.elementsEqual(request.body) ? text : nil
        trailers = request.trailers.map { [$0.name.rawName, $0.value] }
        address = "\(request.connection.local.address)"
        port = Int(request.connection.local.port)
        connection = request.connection.number
    }
}
