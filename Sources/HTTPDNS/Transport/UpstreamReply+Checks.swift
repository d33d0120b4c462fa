// SPDX-License-Identifier: Apache-2.0

import HTTPTypes

extension UpstreamReply {
    /// Throws unless the status is 200…299.
    ///
    /// - Parameter hasAccount: Whether the question named an account and the reply is authenticated. If not, a 401, 403 or
    ///   407 is a failure of the upstream or of a captive portal, which does not pause the upstream for long.
    func requireSuccess(hasAccount: Bool) throws(UpstreamError) {
        switch status {
        case 200..<300: return
        case 401 where !hasAccount, 403 where !hasAccount, 407 where !hasAccount:
            throw UpstreamError(
                .serverFailure,
                "HTTP status \(status): the upstream, or a portal on the way, refuses the request"
            )
        case 401, 403, 407: throw UpstreamError(.accountRefused, "HTTP status \(status): the account is refused")
        case 429: throw UpstreamError(.rateLimited, "HTTP status 429: too many requests")
        case 404: throw UpstreamError(.questionRefused, "HTTP status 404: there is nothing at this path")
        case 400..<500: throw UpstreamError(.questionRefused, "HTTP status \(status): the question is refused")
        default: throw UpstreamError(.serverFailure, "HTTP status \(status)")
        }
    }

    /// The first field of a name. Faster than the subscript of `HTTPFields`, which searches for further fields to join.
    func field(_ name: HTTPField.Name) -> String? { fields.first { $0.name == name }?.value }

    /// The time that the reply spent in caches, in seconds (RFC 9111 §5.1); at most a day.
    var age: UInt32 { UInt32(clamping: min(field(.age).flatMap { Int64($0) } ?? 0, 86_400)) }

    /// The body as text: ASCII without control characters other than line ends and tabs.
    func text() throws(UpstreamError) -> String {
        let isPlain = body.allSatisfy { (0x20..<0x7f).contains($0) || $0 == 0x0a || $0 == 0x0d || $0 == 0x09 }
        guard isPlain else { throw UpstreamError(.malformedAnswer, "the reply is not plain text") }
        return String(decoding: body, as: UTF8.self)
    }
}
