// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
package import Names

/// Aliyun HTTPDNS version 2: `/v2/d`, signed with HMAC-SHA256 and encrypted if keys are given.
package final class Aliyun2Upstream: BatchUpstream, ScheduledUpstream {
    package let name: String
    package let maxNames = 5
    private let id: String
    private let account: AliyunAccount
    private let secret: [UInt8]?
    private let cipher: AESCipher?
    /// The `m` parameter: 0 for no encryption, 1 for CBC, 2 for GCM.
    private let mode: Int64

    /// How long a signature is valid, in seconds.
    private static let validity: Int64 = 600

    /// An upstream for one account; without a secret, requests are not signed.
    ///
    /// - Parameter secret: The secret in hexadecimal.
    /// - Throws: ``UpstreamError`` with code `misconfigured` if the secret or the key is invalid.
    package init(
        account: String,
        secret: String? = nil,
        encryption: AliyunEncryption? = nil,
        service: AliyunService = AliyunService(),
        transport: any UpstreamTransport,
        clock: SigningClock = SigningClock()
    ) throws(UpstreamError) {
        self.secret = secret.flatMap { Hex.decode($0) }
        if secret != nil, self.secret?.isEmpty ?? true {
            throw UpstreamError(.misconfigured, "aliyun2:\(account): the secret is not hexadecimal")
        }
        switch encryption {
        case nil: (cipher, mode) = (nil, 0)
        case .cbc(let key): (cipher, mode) = (AESCipher(.cbc, key: key), 1)
        case .gcm(let key): (cipher, mode) = (AESCipher(.gcm, key: key), 2)
        }
        guard (cipher == nil) == (mode == 0) else {
            throw UpstreamError(.misconfigured, "aliyun2:\(account): the encryption key must have 16 octets")
        }
        id = account
        self.account = AliyunAccount(account, secret: secret, service: service, transport: transport, clock: clock)
        name = "aliyun2:\(self.account.label)"
    }

    package func answer(_ question: Question) async throws(UpstreamError) -> Answer {
        try await ask(for: [question.host], families: question.families, subnet: question.subnet).only(question.host)
    }

    package func answers(_ hosts: [Host], families: Families) async throws(UpstreamError) -> [Host: Answer] {
        try await ask(for: hosts, families: families, subnet: nil)
    }

    package func reschedule() async -> Duration { await account.reschedule() }

    private func ask(
        for hosts: [Host],
        families: Families,
        subnet: IPNetwork?
    ) async throws(UpstreamError) -> [Host: Answer] {
        var asked = ["dn": try hosts.askedNames(), "q": families.aliyunText]
        asked["cip"] = subnet?.first.description
        return try await account.ask(
            make: { (request) throws(UpstreamError) in request.target = "/v2/d?" + (try self.query(asked)) },
            read: { (body) throws(UpstreamError) in
                try AliyunAnswer.version2(try self.content(of: body), hosts: hosts, families: families)
            }
        )
    }

    // MARK: The question

    private func query(_ asked: [String: String]) throws(UpstreamError) -> String {
        var fields = ["id": id, "m": String(mode), "v": "1.0"]
        if cipher == nil {
            fields.merge(asked) { own, _ in own }
        } else {
            fields["enc"] = try encrypted(asked)
        }
        if let secret {
            fields["exp"] = String(account.clock.now + Self.validity)
            fields["s"] = Self.signature(fields, key: secret)
        }
        var query = QueryString()
        for (name, value) in fields.sorted(by: { $0.key < $1.key }) { query.add(name, value) }
        return query.text
    }

    /// The signature of a question: the signed fields, sorted by name and not percent-encoded.
    package static func signature(_ fields: [String: String], key: [UInt8]) -> String {
        let signed = fields.filter { name, value in
            !value.isEmpty
                && (["id", "m", "dn", "cip", "q", "enc", "exp", "tags", "v"].contains(name) || name.hasPrefix("sdns-"))
        }
        let text = signed.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: "&")
        return Digests.hmacSHA256(text, key: key)
    }

    private func encrypted(_ asked: [String: String]) throws(UpstreamError) -> String {
        let content = JSONValue.object(asked.mapValues { .string($0) })
        do {
            let sealed = try cipher?.seal(Array(content.text.utf8))
            return Hex.encode(sealed ?? [])
        } catch {
            throw UpstreamError(.misconfigured, "the question cannot be encrypted: \(error)")
        }
    }

    // MARK: The answer

    private func content(of body: JSONValue) throws(UpstreamError) -> JSONValue {
        guard let data = body["data"] else { throw .unknownForm }
        guard let cipher else {
            guard data.object != nil else { throw .unknownForm }
            return data
        }
        // An unencrypted reply to an encrypted question may be forged.
        guard let sealed = data.string.flatMap({ Base64.decode($0) }), let text = cipher.open(sealed),
            let content = JSONValue(text)
        else {
            throw UpstreamError(.malformedAnswer, "the reply is not encrypted with the account's key")
        }
        return content
    }
}
