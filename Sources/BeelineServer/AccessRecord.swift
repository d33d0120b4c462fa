// SPDX-License-Identifier: Apache-2.0

import HTTPDNS
public import Names

/// A question and its outcome, for an access log.
public struct AccessRecord: Sendable {
    /// The forms of questions that the server accepts.
    public enum Form: String, Hashable, Sendable, CaseIterable {
        /// DNS messages over HTTP (RFC 8484).
        case doh
        /// DNS in JSON, as Google and Cloudflare define it.
        case json
        /// DNSPod's `/d?dn=`.
        case dnspod
        /// Version 1 of Aliyun's API.
        case aliyun
        /// Version 2 of Aliyun's API.
        case aliyun2
        /// DNS over UDP.
        case udp
        /// DNS over TCP.
        case tcp
        /// DNS over TLS (RFC 7858).
        case dot
        /// `/health`, `/metrics` and unknown paths.
        case other
    }

    /// The client's address.
    public var client: IPAddress
    /// The form of the question.
    public var form: Form
    /// The account that the question names, cut at 1,024 octets. Nil if the question names none.
    public var account: String?
    /// The names, separated by commas and cut at 1,024 octets. Empty if no name could be read.
    public var names: String
    /// The record types, such as `A` or `A,AAAA`.
    public var types: String
    /// The HTTP status. 0 for a question without HTTP.
    public var status: Int
    /// The outcome: the name of the DNS response code, or the error code of the form.
    public var outcome: String
    /// The source of the answer: `zone`; a `Resolution.Source`; `upstream` for a confirmed absence; `busy` or `loop`
    /// for a question that was not looked up; the code of a `ResolutionError`; `-` if there is none. Treat unknown
    /// values as text.
    public var source: String
    /// The size of the reply's body in octets.
    public var octets: Int
    /// The time from the last octet of the question to the reply.
    public var time: Duration

    /// Names for ``names``. A comma in a name is written as other special octets are (RFC 1035 §5.1).
    static func text(of names: [DNSName]) -> String {
        bounded(names.map { $0.description.replacing(",", with: "\\044") }.joined(separator: ","))
    }

    /// The maximum length of a logged text that a client chooses, in octets.
    static let maxOctets = 1_024

    /// Cuts a text at ``maxOctets`` and appends `…` if anything was cut.
    static func bounded(_ text: String) -> String {
        guard text.utf8.count > maxOctets else { return text }
        return String(decoding: text.utf8.prefix(maxOctets), as: UTF8.self) + "…"
    }
}
