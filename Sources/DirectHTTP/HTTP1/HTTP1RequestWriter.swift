// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import HTTPWire
import NIOCore
import Names

/// Writes request heads (RFC 9112 §3).
enum HTTP1RequestWriter {
    /// Appends the head in wire format.
    ///
    /// - Parameters:
    ///   - isForwarded: whether a proxy forwards the request; the target is then in absolute form (RFC 9112 §3.2.2).
    ///   - isHTTP10: whether the version is HTTP/1.0 and not HTTP/1.1.
    static func write(
        _ request: PreparedRequest,
        isForwarded: Bool,
        isHTTP10: Bool,
        into head: inout ByteBuffer
    ) {
        head.reserveCapacity(minimumWritableBytes: 512)
        head.writeString(request.method.rawValue)
        head.writeStaticString(" ")
        head.writeString(isForwarded ? request.absoluteTarget : request.target)
        head.writeStaticString(isHTTP10 ? " HTTP/1.0\r\n" : " HTTP/1.1\r\n")
        if request.options.sendsHost {
            head.writeStaticString("Host: ")
            head.writeString(request.authority)
            head.writeStaticString("\r\n")
        }
        if isForwarded {
            if let credentials = request.proxyAuthorization {
                head.writeField("Proxy-Authorization", value: credentials)
            }
            for field in request.proxyFields { head.writeField(field) }
        }
        writeFields(&head, request)
    }

    /// The target of ``connect(to:by:credentials:)``.
    static func tunnelTarget(_ origin: Origin) -> String { "\(origin.host.urlForm):\(origin.port)" }

    /// A `CONNECT` request for a tunnel to the origin (RFC 9110 §9.3.6). It always carries the host, never a resolved address.
    static func connect(to origin: Origin, by proxy: Proxy, credentials: String?) -> ByteBuffer {
        let authority = tunnelTarget(origin)
        let version = proxy.connectsWithHTTP10 ? "HTTP/1.0" : "HTTP/1.1"
        var head = ByteBuffer(string: "CONNECT \(authority) \(version)\r\n")
        if !proxy.connectFields.contains(where: { $0.name.canonicalName == "host" }) {
            head.writeField("Host", value: authority)
        }
        if let credentials { head.writeField("Proxy-Authorization", value: credentials) }
        for field in proxy.connectFields { head.writeField(field) }
        head.writeStaticString("\r\n")
        return head
    }

    private static func writeFields(_ head: inout ByteBuffer, _ request: PreparedRequest) {
        var hasTE = false
        for field in request.fields {
            if field.name.canonicalName == "te" { hasTE = true }
            head.writeField(field)
        }
        if let option = request.options.connection(hasTE: hasTE) { head.writeField("Connection", value: option) }
        switch request.framing {
        case .none: break
        case .length(let length): head.writeField("Content-Length", value: String(length))
        case .chunked: head.writeStaticString("Transfer-Encoding: chunked\r\n")
        }
        head.writeStaticString("\r\n")
    }
}
