// SPDX-License-Identifier: Apache-2.0

import NIOCore

/// The trailer section of a chunked body (RFC 9112 §7.1.2) on its way through the proxy.
enum TrailerFields {
    /// Fields that say where a message ends, where it goes, who sends it and how it is read: a reader that merges trailers into
    /// the head would take them for the head's (RFC 9110 §6.5.1).
    private static let forbidden: Set<String> = [
        "age", "authentication-info", "authorization", "cache-control", "connection", "content-encoding",
        "content-length", "content-range", "content-type", "cookie", "date", "expect", "expires", "forwarded", "host",
        "http2-settings", "keep-alive", "location", "max-forwards", "origin", "pragma", "proxy-authenticate",
        "proxy-authentication-info", "proxy-authorization", "proxy-connection", "range", "referer", "retry-after",
        "set-cookie", "te", "trailer", "transfer-encoding", "upgrade", "vary", "via", "warning", "www-authenticate",
    ]

    /// The section as it goes on: without such fields, and without those that belong to one connection.
    ///
    /// - Parameters:
    ///   - section: the lines up to and with the empty one.
    ///   - listed: names that Connection lists, in small letters.
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
