// SPDX-License-Identifier: Apache-2.0

import Beeline

extension VerboseLog {
    /// Returns the lines of `-v` for a proxy's answer to a request for a tunnel.
    ///
    /// A successful answer has no body, whatever its fields are (RFC 9110 §9.3.6).
    static func notes(ofTunnel head: ReceivedHead) -> [String] {
        let status = head.response.status
        guard status.kind == .successful else { return ["* The proxy answered \(status.code) to CONNECT"] }
        let ignored = [HTTPField.Name.contentLength, .transferEncoding].filter {
            head.response.headerFields.contains($0)
        }
        return ["* The proxy opened a tunnel"] + ignored.map { "* Ignoring \($0) in CONNECT \(status.code) response" }
    }
}
