// SPDX-License-Identifier: Apache-2.0

import HTTPDNS
import Names

/// Aliyun's API: `/{account}/d`, `sign_d`, `resolve`, `sign_resolve`, `ss`, and `/v2/d`.
struct AliyunDialect: Sendable {
    let router: Router

    /// The maximum number of names in one question, as in Aliyun's service.
    private static let maxNames = 5
    /// How far in the future a signature may expire, in seconds.
    private static let longestSignature: Int64 = 86_400

    /// The refusal of a question: Aliyun's error code and the HTTP status.
    struct Refusal: Error {
        let code: String
        let status: Int
        init(_ code: String, _ status: Int = 403) { (self.code, self.status) = (code, status) }

        /// The account has asked as often as its quota allows.
        static let overQuota = Refusal("QuotaExceeded", 429)
        static let internalError = Refusal("InternalError", 500)
        /// No upstream gave an answer. With `InternalError`, clients would take the whole server for broken because of
        /// a few names. Aliyun's SDKs treat both alike.
        static let lookupFailed = Refusal("LookupFailed", 500)
    }

    // MARK: Version 1

    func handle(_ request: ServerRequest, account: String, call: Substring) -> RequestHandling {
        let fields = request.fields
        let isBatch = call.hasSuffix("resolve")
        let families = isBatch ? Families.v4 : Self.families(fields["query"])
        let names: [DNSName]
        let known: ServerAccount?
        do throws(Refusal) {
            guard let text = fields["host"] else { throw Refusal("MissingArgument", 400) }
            known = try checkSigned(account: account, text: text, fields: fields, isSigned: call.hasPrefix("sign_"))
            names = try Self.names(text, limit: isBatch ? Self.maxNames : 1, tooMany: "LimitExceeded")
        } catch {
            return .reply(Self.refusal(error, form: .aliyun, account: account))
        }
        let client = request.client
        return router.lookUp(names, families: families, subnet: fields["ip"], for: client, of: known) { all in
            guard let all else { return Self.refusal(.overQuota, form: .aliyun, account: account) }
            // Omits names with a failed lookup, as if the question had not asked for them.
            let answers = all.filter { !$0.isFailure }
            guard !answers.isEmpty else { return Self.refusal(.lookupFailed, form: .aliyun, account: account) }
            let entries = answers.map { Self.entry($0, client) }
            let text = isBatch ? "{\"dns\":[\(entries.joined(separator: ","))]}" : entries[0]
            return Self.reply(text, form: .aliyun, account: account, answers: answers, families: families)
        }
    }

    private func checkSigned(
        account: String,
        text: String,
        fields: [String: String],
        isSigned: Bool
    )
        throws(Refusal) -> ServerAccount?
    {
        guard isSigned else {
            // With accounts, unsigned questions are refused.
            guard router.isOpen else {
                throw Refusal(router.accounts[account] == nil ? "InvalidAccount" : "UnsignedInterfaceDisabled")
            }
            return nil
        }
        guard let known = router.accounts[account] else { throw Refusal("InvalidAccount") }
        guard let time = fields["t"].flatMap({ Int64($0) }), let signature = fields["s"] else {
            throw Refusal("MissingArgument", 400)
        }
        try checkTime(time)
        let expected = Digests.signature(text, secret: known.secret, time: time)
        guard ConstantTime.equal(expected, signature.lowercased()) else {
            throw Refusal("InvalidSignature")
        }
        return known
    }

    private func checkTime(_ end: Int64) throws(Refusal) {
        let now = router.clock()
        guard end >= now else { throw Refusal("SignatureExpired") }
        guard end <= now + Self.longestSignature else { throw Refusal("InvalidDuration", 400) }
    }

    private static func entry(_ answer: HostAnswer, _ client: IPAddress) -> String {
        var members = ["\"host\":\(JSONText.quoted(answer.name.description))"]
        // Omits a family that failed: an empty list would mean that the host has no such address.
        for (family, part) in answer.parts where !part.isFailure {
            members.append("\"\(family == .v4 ? "ips" : "ipsv6")\":\(list(part))")
        }
        members.append("\"ttl\":\(answer.ttl),\"origin_ttl\":\(answer.ttl),\"client_ip\":\"\(client)\"")
        return "{\(members.joined(separator: ","))}"
    }

    // MARK: Version 2

    /// Handles `/v2/d`.
    func handleVersion2(_ request: ServerRequest) -> RequestHandling {
        var fields = request.fields
        let id = fields["id"] ?? ""
        let cipher: AESCipher?
        let names: [DNSName]
        let account: ServerAccount?
        do throws(Refusal) {
            account = try checkVersion2(id, fields)
            cipher = try Self.cipher(fields["m"] ?? "0", account)
            if let cipher {
                guard let sealed = fields["enc"].flatMap({ Hex.decode($0) }), let text = cipher.open(sealed),
                    let members = JSONValue(text)?.object
                else { throw Refusal("InvalidArgument", 400) }
                // Ignores the unencrypted fields beside the encrypted part.
                for name in ["dn", "q", "cip"] { fields[name] = members[name]?.string }
            }
            guard let text = fields["dn"] else { throw Refusal("MissingArgument", 400) }
            names = try Self.names(text, limit: Self.maxNames, tooMany: "TooManyHosts")
        } catch {
            return .reply(Self.refusal(error, form: .aliyun2, account: id))
        }
        let families = Self.families(fields["q"])
        let (client, mode) = (request.client, fields["m"] ?? "0")
        return router.lookUp(names, families: families, subnet: fields["cip"], for: client, of: account) { all in
            guard let all else { return Self.refusal(.overQuota, form: .aliyun2, account: id) }
            let answers = all.filter { !$0.saysNothing }
            guard !answers.isEmpty else { return Self.refusal(.lookupFailed, form: .aliyun2, account: id) }
            let entries = answers.map { Self.entry2($0) }.joined(separator: ",")
            var data = "{\"cip\":\"\(client)\",\"answers\":[\(entries)]}"
            if let cipher {
                guard let sealed = try? cipher.seal(Array(data.utf8)) else {
                    return Self.refusal(.internalError, form: .aliyun2, account: id)
                }
                data = "\"\(Base64.encode(sealed))\""
            }
            let text = "{\"code\":\"success\",\"mode\":\(mode),\"data\":\(data)}"
            return Self.reply(text, form: .aliyun2, account: id, answers: answers, families: families)
        }
    }

    private func checkVersion2(_ id: String, _ fields: [String: String]) throws(Refusal) -> ServerAccount? {
        guard let account = router.accounts[id] else {
            guard router.isOpen, fields["s"] == nil else { throw Refusal("InvalidAccount") }
            return nil
        }
        guard let signature = fields["s"] else { throw Refusal("UnsignedInterfaceDisabled") }
        guard let end = fields["exp"].flatMap({ Int64($0) }) else { throw Refusal("MissingArgument", 400) }
        try checkTime(end)
        guard let key = account.signingKey,
            ConstantTime.equal(Aliyun2Upstream.signature(fields, key: key), signature.lowercased())
        else { throw Refusal("InvalidSignature") }
        return account
    }

    private static func cipher(_ mode: String, _ account: ServerAccount?) throws(Refusal) -> AESCipher? {
        guard mode != "0" else { return nil }
        guard mode == "1" || mode == "2", let key = account?.encryptionKey,
            let cipher = AESCipher(mode == "1" ? .cbc : .gcm, key: key)
        else { throw Refusal("InvalidArgument", 400) }
        return cipher
    }

    private static func entry2(_ answer: HostAnswer) -> String {
        var members = ["\"dn\":\(JSONText.quoted(answer.name.description))"]
        for (family, part) in answer.parts where !part.isFailure {
            let code = part.code == .noSuchName ? "DomainNotExist" : "RRNotExist"
            let absence = part.addresses.isEmpty ? ",\"no_ip_code\":\"\(code)\"" : ""
            members.append("\"\(family == .v4 ? "v4" : "v6")\":{\"ips\":\(list(part)),\"ttl\":\(part.ttl)\(absence)}")
        }
        return "{\(members.joined(separator: ","))}"
    }

    // MARK: Both versions

    private static func list(_ answer: ServerAnswer) -> String {
        "[" + answer.addresses.map { "\"\($0)\"" }.joined(separator: ",") + "]"
    }

    private static func families(_ text: String?) -> Families {
        let parts = (text ?? "4").split(separator: ",")
        guard parts.contains("6") else { return .v4 }
        return parts.contains("4") ? .both : .v6
    }

    private static func names(_ text: String, limit: Int, tooMany: String) throws(Refusal) -> [DNSName] {
        let parts = text.split(separator: ",", omittingEmptySubsequences: false)
        guard parts.count <= limit else { throw Refusal(tooMany, 400) }
        var names: [DNSName] = []
        for part in parts {
            guard let name = DNSName(asked: String(part)) else { throw Refusal("InvalidHost", 400) }
            names.append(name)
        }
        return names
    }

    private static func reply(
        _ text: String,
        form: AccessRecord.Form,
        account: String,
        answers: [HostAnswer],
        families: Families
    ) -> ServerReply {
        var reply = ServerReply.json(text)
        reply.form = form
        reply.account = account
        reply.names = answers.map(\.name)
        reply.types = families.typeLabels
        reply.outcome = answers[0].isNoName ? "NXDOMAIN" : "NOERROR"
        reply.source = answers[0].source
        return reply
    }

    static func refusal(_ refusal: Refusal, form: AccessRecord.Form, account: String) -> ServerReply {
        var reply = ServerReply.json("{\"code\":\"\(refusal.code)\"}", status: refusal.status)
        reply.form = form
        reply.account = account
        reply.outcome = refusal.code
        return reply
    }
}
