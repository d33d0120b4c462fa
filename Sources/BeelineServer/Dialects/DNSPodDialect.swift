// SPDX-License-Identifier: Apache-2.0

import HTTPDNS
import Names

/// DNSPod's form: `/d?dn=…`, in cleartext, or with names and answer encrypted by AES.
///
/// The encrypted form is AES-CBC without authentication, because DNSPod's SDKs require it. It is off unless the server has
/// accounts. Aliyun's version 2 and RFC 8484 over TLS protect the integrity of their content.
struct DNSPodDialect: Sendable {
    let router: Router

    /// The maximum number of names in one question, as in DNSPod's service.
    private static let maxNames = 8

    func handle(_ request: ServerRequest) -> RequestHandling {
        let fields = request.fields
        var cipher: AESCipher?
        var account: String?
        var asker: ServerAccount?
        if let id = fields["id"], fields["alg"] == "aes" {
            guard let known = router.accounts[id], let key = known.dnspodCipher else {
                return .reply(Self.refusal("the account is unknown", 401))
            }
            (cipher, account, asker) = (key, id, known)
        } else if let token = fields["token"] {
            guard let known = router.accounts.account(withToken: token) else {
                return .reply(Self.refusal("the token is unknown", 401))
            }
            (account, asker) = ("token", known)
        } else if router.configuration.requiresAccount || fields["alg"] != nil {
            return .reply(Self.refusal("the question needs an account, and alg=aes", 401))
        }
        guard var text = fields["dn"] else { return .reply(Self.refusal("dn is missing", 400)) }
        // All decryption failures return the same error, and only after all checks. Different errors would be a padding
        // oracle: an attacker could decrypt the questions of other clients.
        var isReadable = true
        if let cipher {
            let opened = Hex.decode(text).flatMap(cipher.openBlocks)
            isReadable = opened?.isPadded ?? false
            text = opened.map { String(decoding: $0.text, as: UTF8.self) } ?? ""
        }
        var hasExpired = false
        if account != nil, let mark = text.firstIndex(of: ";") {
            // Recent SDKs append the time at which the question expires.
            hasExpired = Int64(text[text.index(after: mark)...]).map { $0 < router.clock() } ?? true
            text = String(text[..<mark])
        }
        let names = text.split(separator: ",", maxSplits: Self.maxNames).map {
            Self.name(String($0), isSealed: cipher != nil)
        }
        let areNames = !names.isEmpty && names.count <= Self.maxNames && !names.contains(nil)
        if cipher != nil {
            guard isReadable, areNames, !hasExpired else {
                return .reply(Self.refusal("dn is not encrypted with the account's key, or has expired", 401))
            }
        }
        guard !hasExpired else { return .reply(Self.refusal("the question has expired", 401)) }
        guard areNames else {
            return .reply(Self.refusal("dn must have 1 to \(Self.maxNames) names, separated by commas", 400))
        }
        let hosts = names.compactMap(\.self)
        let (options, client) = (Options(fields, client: request.client, names: hosts.count), request.client)
        let address = Self.address(fields["ip"], cipher)
        return router.lookUp(hosts, families: options.families, subnet: address, for: client, of: asker) {
            [cipher, account] answers in
            guard let answers else { return Self.refusal("the account has asked as often as its quota allows", 429) }
            // Omits names with a failed lookup, as if the question had not asked for them.
            let known = answers.filter { !$0.isFailure }
            guard !known.isEmpty else { return Self.failure(answers, account) }
            var reply = Self.reply(known, options: options, cipher: cipher, account: account)
            // A cache would keep the reply without the names that failed.
            if known.count < answers.count { reply.maxAge = nil }
            return reply
        }
    }

    /// Reads a name. An encrypted one must be a host, so that changed ciphertext fails even if its padding is valid.
    private static func name(_ text: String, isSealed: Bool) -> DNSName? {
        guard isSealed else { return DNSName(asked: text) }
        guard let host = try? Host(text), host.address == nil else { return nil }
        return DNSName(host.text)
    }

    /// The address of the `ip` field. DNSPod's documents describe it as encrypted, but DNSPod's SDKs send it in cleartext.
    private static func address(_ text: String?, _ cipher: AESCipher?) -> String? {
        guard let text, let octets = Hex.decode(text).flatMap({ cipher?.open($0) }) else { return text }
        return String(validUTF8: octets)
    }

    /// The format that the question requests for the answer.
    private struct Options: Sendable {
        let families: Families
        let hasTTL: Bool
        let client: IPAddress?
        let isNamed: Bool

        init(_ fields: [String: String], client: IPAddress, names: Int) {
            switch fields["type"]?.lowercased() {
            case "aaaa": families = .v6
            case "addrs": families = .both
            default: families = .v4
            }
            hasTTL = fields["ttl"] == "1"
            self.client = fields["clientip"] == "1" ? client : nil
            isNamed = fields["query"] == "1" || names > 1
        }
    }

    private static func reply(
        _ answers: [HostAnswer],
        options: Options,
        cipher: AESCipher?,
        account: String?
    ) -> ServerReply {
        let lines = answers.map { line($0, options) }
        var body = Array(lines.joined(separator: "\n").utf8)
        if let cipher, !body.isEmpty {
            body = (try? cipher.seal(body)).map { Array(Hex.encode($0).utf8) } ?? []
        }
        var reply = ServerReply(200, contentType: "text/plain; charset=utf-8", body: body)
        reply.form = .dnspod
        reply.account = account
        reply.names = answers.map(\.name)
        reply.types = options.families.typeLabels
        reply.outcome = answers[0].isNoName ? "NXDOMAIN" : "NOERROR"
        reply.source = answers[0].source
        // An answer that is encrypted, for some clients only, or has the client's address must not be cached by others.
        let isForAll = account == nil && options.client == nil && !answers.contains { $0.hasFailure || $0.isPrivate }
        reply.maxAge = isForAll ? answers.map(\.ttl).min() : nil
        return reply
    }

    private static func failure(_ answers: [HostAnswer], _ account: String?) -> ServerReply {
        // With a status of the class 5xx, clients would take the whole server for broken because of a few names.
        var reply = refusal("no upstream gave an answer", 422)
        reply.account = account
        reply.names = answers.map(\.name)
        return reply
    }

    private static func line(_ answer: HostAnswer, _ options: Options) -> String {
        func list(_ family: IPAddress.Family) -> String {
            guard let part = answer[family], !part.addresses.isEmpty else {
                // "0" means that the host has no address. An empty list means that the lookup failed.
                return answer[family]?.isFailure ?? false ? "" : "0"
            }
            let addresses = part.addresses.map(\.description).joined(separator: ";")
            return options.hasTTL ? "\(addresses),\(answer.ttl(of: part))" : addresses
        }
        let body: String
        switch options.families {
        case .both: body = "\(list(.v4))-\(list(.v6))"
        case .v6: body = list(.v6)
        // The form returns an empty body if the question has one name and the host has no address.
        default: body = list(.v4) == "0" && !options.isNamed ? "" : list(.v4)
        }
        return (options.isNamed ? "\(answer.name).:" : "") + body + (options.client.map { "|\($0)" } ?? "")
    }

    private static func refusal(_ text: String, _ status: Int) -> ServerReply {
        var reply = ServerReply.text(text, status: status, form: .dnspod)
        reply.outcome = "refused"
        return reply
    }
}

extension Families {
    /// The record types of the families.
    var typeLabels: String { self == .both ? "A,AAAA" : self == .v6 ? "AAAA" : "A" }
}
