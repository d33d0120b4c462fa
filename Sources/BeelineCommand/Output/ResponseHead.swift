// SPDX-License-Identifier: Apache-2.0

import Beeline

/// A response head in HTTP/1.1 format, for `-i` and `-D`.
struct ResponseHead {
    let bytes: [UInt8]

    init(_ hop: Hop) {
        var bytes = Array("\(Self.statusLine(hop))\r\n".utf8)
        for field in hop.response.headerFields {
            bytes += Array("\(field.name.rawName): ".utf8)
            // A value may not be UTF-8; print its bytes unchanged.
            field.withUnsafeBytesOfValue { bytes += $0 }
            bytes += [0x0d, 0x0a]
        }
        self.bytes = bytes + [0x0d, 0x0a]
    }

    /// Returns the status line, such as `HTTP/1.1 200 OK`. HTTP/2 has no reason phrases.
    static func statusLine(_ hop: Hop) -> String {
        let reason = hop.applicationProtocol == "h2" ? "" : hop.status.reasonPhrase
        return "HTTP/\(hop.httpVersion) \(hop.status.code) \(reason)"
    }
}
