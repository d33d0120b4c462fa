// SPDX-License-Identifier: Apache-2.0

import Beeline

extension Hop {
    /// The status line, such as `HTTP/1.1 200 OK`. HTTP/2 has no reason phrases.
    var statusLine: String {
        let reason = applicationProtocol == "h2" ? "" : status.reasonPhrase
        return "HTTP/\(httpVersion) \(status.code) \(reason)"
    }

    /// How long TLS and the steps of a proxy took; nil without TLS, and on a reused connection.
    var tlsTime: Duration? {
        url.origin.scheme.isSecure || proxy?.origin.scheme.isSecure == true ? timings.handshake : nil
    }
}
