// SPDX-License-Identifier: Apache-2.0

import Beeline

/// A response's head as `-i` and `-D` print it: as it was on the wire of HTTP/1.1.
struct ResponseHead {
    let bytes: [UInt8]

    init(_ hop: Hop) {
        var bytes = Array("\(Self.statusLine(hop))\r\n".utf8)
        for field in hop.response.headerFields {
            bytes += Array("\(field.name.rawName): ".utf8)
            // Not every value is UTF-8, and it is printed as it came.
            field.withUnsafeBytesOfValue { bytes += $0 }
            bytes += [0x0d, 0x0a]
        }
        self.bytes = bytes + [0x0d, 0x0a]
    }

    /// `HTTP/1.1 200 OK`; HTTP/2 has no reason phrases.
    static func statusLine(_ hop: Hop) -> String {
        let reason = hop.applicationProtocol == "h2" ? "" : hop.status.reasonPhrase
        return "HTTP/\(hop.httpVersion) \(hop.status.code) \(reason)"
    }
}
