// SPDX-License-Identifier: Apache-2.0

import NIOCore

/// Filters the trailer section of a chunked body (RFC 9112 §7.1.2).
enum TrailerFields {
    /// Fields for framing, routing, authentication and content format. A recipient that merges trailers into the head would take
    /// them for fields of the head (RFC 9110 §6.5.1).
    private static let forbidden: Set<String> = [
        "age", "authentication-info", "authorization", "cache-control", "connection", "content-encoding",
        "content-length", "content-range", "content-type", "cookie", "date", "expect", "expires", "forwarded", "host",
        "http2-settings", "keep-alive", "location", "max-forwards", "origin", "pragma", "proxy-authenticate",
        "proxy-authentication-info", "proxy-authorization", "proxy-connection", "range", "referer", "retry-after",
        "set-cookie", "te", "trailer", "transfer-encoding", "upgrade", "vary", "via", "warning", "www-authenticate",
    ]

    /// The section without forbidden and hop-by-hop fields.
    ///
    /// - Parameters:
    ///   - section: the lines including the empty one.
    ///   - listed: the names in Connection, in lower case.
    static func passed(_ section: UnsafeRawBufferPointer, without listed: Set<String>) -> ByteBuffer {
        var passed = ByteBuffer()
        var lines = HeadLines(section)
        while let line = lines.next() {
            let name = String(decoding: line.prefix { $0 != UInt8(ascii: ":") }, as: UTF8.self).lowercased()
            if forbidden.contains(name) || name.hasPrefix("if-") || listed.contains(name) { continue }
            passed.writeBytes(UnsafeRawBufferPointer(rebasing: line))
            passed.writeStaticString("\r\n")
        }
        passed.writeStaticString("\r\n")
        return passed
    }
}
