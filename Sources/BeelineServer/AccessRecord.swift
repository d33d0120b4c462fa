// SPDX-License-Identifier: Apache-2.0

public import Names

/// A question that was answered, for an access log.
public struct AccessRecord: Sendable {
    /// The forms of questions.
    public enum Form: String, Hashable, Sendable, CaseIterable {
        /// DNS messages over HTTP (RFC 8484).
        case doh
        /// DNS in JSON, as of Google and Cloudflare.
        case json
        /// DNSPod's `/d?dn=`.
        case dnspod
        /// Aliyun's first version.
        case aliyun
        /// Aliyun's second version.
        case aliyun2
        /// `/health`, `/metrics`, and paths that do not exist.
        case other
    }

    /// Who asked.
    public var client: IPAddress
    /// In which form.
    public var form: Form
    /// The account, as the question names it, cut at 1,024 octets; nil where the question had none.
    public var account: String?
    /// The names, parted by commas, cut at 1,024 octets; empty where none could be read.
    public var names: String
    /// What was asked of them, such as `A` or `A,AAAA`.
    public var types: String
    /// The HTTP status.
    public var status: Int
    /// The outcome: DNS's word for it, or the form's own error code.
    public var outcome: String
    /// Where the answer was from: `zone`, `cached`, `fresh`, `stale`, `system`, `fixed`.
    public var source: String
    /// Octets of the reply's body.
    public var octets: Int
    /// From the question's last octet to the reply.
    public var time: Duration

    /// Octets of a text that clients choose.
    static let maxOctets = 1_024

    /// A text of at most ``maxOctets``, and `…` where more was cut off.
    static func bounded(_ text: String) -> String {
        guard text.utf8.count > maxOctets else { return text }
        return String(decoding: text.utf8.prefix(maxOctets), as: UTF8.self) + "…"
    }
}
