// SPDX-License-Identifier: Apache-2.0

package import NIOCore

/// The trailer section of a chunked body (RFC 9112 §7.1.2).
package enum TrailerFields {
    /// Fields for framing, routing, authentication and content format. A recipient that merges trailers into the head
    /// would treat them as fields of the head (RFC 9110 §6.5.1).
    private static let forbidden: Set<String> = [
        "age", "authentication-info", "authorization", "cache-control", "connection", "content-encoding",
        "content-length", "content-range", "content-type", "cookie", "date", "expect", "expires", "forwarded", "host",
        "http2-settings", "keep-alive", "location", "max-forwards", "origin", "pragma", "proxy-authenticate",
        "proxy-authentication-info", "proxy-authorization", "proxy-connection", "range", "referer", "retry-after",
        "set-cookie", "te", "trailer", "transfer-encoding", "upgrade", "vary", "via", "warning", "www-authenticate",
    ]

    /// Whether a trailer may have this name.
    ///
    /// - Parameter name: the name in lower case.
    package static func allows(_ name: String) -> Bool { !forbidden.contains(name) && !name.hasPrefix("if-") }

    /// The section without forbidden trailers and those of one connection, with its empty line.
    ///
    /// - Parameter connectionNames: the names in Connection, in lower case.
    package static func forwarded(_ section: [UInt8], without connectionNames: Set<String>) -> ByteBuffer {
        var forwarded = ByteBuffer()
        section.withUnsafeBytes { bytes in
            var lines = HTTP1Lines(bytes)
            while let line = lines.next() {
                let name = Bytes(rebasing: line.prefix { $0 != UInt8(ascii: ":") }).text.lowercased()
                guard allows(name), !connectionNames.contains(name) else { continue }
                forwarded.writeBytes(line)
                forwarded.writeStaticString("\r\n")
            }
        }
        forwarded.writeStaticString("\r\n")
        return forwarded
    }
}
