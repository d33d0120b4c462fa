// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
public import Names

/// Aliyun's HTTPDNS in its second version: `/v2/d`, signed by HMAC-SHA256 and encrypted where there are keys.
public final class Aliyun2Upstream: BatchUpstream, ScheduledUpstream {
    /// How questions and answers are encrypted, besides what TLS does.
    public enum Encryption: Hashable, Sendable {
        /// AES-128 in CBC mode, under a key of 16 octets.
        case cbc(key: [UInt8])
        /// AES-128 in GCM mode, under a key of 16 octets: changes are noticed.
        case gcm(key: [UInt8])
    }

    /// The name in resolutions and errors.
    public let name: String
    /// Names that one question may have: 5.
    public let maxNames = 5
    private let account: String
    private let secret: [UInt8]?
    private let cipher: AESCipher?
    /// 0 in the clear, 1 CBC, 2 GCM.
    private let mode: Int64
    private let parameters: [String: String]
    private let service: UpstreamService
    private let scheduler: AliyunScheduler
    private let clock: SigningClock
    private let vector: (@Sendable () -> [UInt8])?

    /// How long a signature holds.
    private static let validity: Int64 = 600

    /// An upstream for one account.
    ///
    /// - Parameters:
    ///   - account: The account's number.
    ///   - secret: The hexadecimal secret that requests are signed with; nil: they are not.
    ///   - encryption: How names are hidden; nil: not at all.
    ///   - service: Where it is found.
    ///   - parameters: Parameters for software-defined resolution, with the prefix `sdns-` in their names, and `tags`.
    ///   - transport: What carries the requests.
    /// - Throws: ``UpstreamError`` with code `misconfigured` where a key has a wrong form.
    public convenience init(
        account: String,
        secret: String? = nil,
        encryption: Encryption? = nil,
        service: AliyunService = AliyunService(),
        parameters: [String: String] = [:],
        transport: any UpstreamTransport
    ) throws(UpstreamError) {
        try self.init(account, secret, encryption, service, parameters, transport, SigningClock())
    }

    init(
        _ account: String,
        _ secret: String?,
        _ encryption: Encryption?,
        _ service: AliyunService,
        _ parameters: [String: String],
        _ transport: any UpstreamTransport,
        _ clock: SigningClock,
        vector: (@Sendable () -> [UInt8])? = nil
    ) throws(UpstreamError) {
        self.secret = secret.flatMap { Hex.decode($0) }
        if secret != nil, self.secret?.isEmpty ?? true {
            throw UpstreamError(.misconfigured, "the secret is not hexadecimal")
        }
        switch encryption {
        case nil: (cipher, mode) = (nil, 0)
        case .cbc(let key): (cipher, mode) = (AESCipher(.cbc, key: key), 1)
        case .gcm(let key): (cipher, mode) = (AESCipher(.gcm, key: key), 2)
        }
        guard (cipher == nil) == (mode == 0) else {
            throw UpstreamError(.misconfigured, "the encryption key must have 16 octets")
        }
        self.account = account
        self.parameters = parameters
        self.service = service.connected(transport)
        self.clock = clock
        scheduler = AliyunScheduler(account, secret, service, transport, clock)
        self.vector = vector
        name = "aliyun2:\(account)@\(self.service.label)"
    }

    /// Answers a question; see ``Upstream/answer(_:)``.
    public func answer(_ question: Question) async throws(UpstreamError) -> Answer {
        try await ask([question.host], question.families, question.subnet).only(question.host)
    }

    /// Answers for several names; see ``BatchUpstream/answers(_:families:)``.
    public func answers(_ hosts: [Host], families: Families) async throws(UpstreamError) -> [Host: Answer] {
        try await ask(hosts, families, nil)
    }

    /// Asks which addresses of the service are near; see ``ScheduledUpstream/reschedule()``.
    public func reschedule() async -> Duration { await scheduler.reschedule(service) }

    private func ask(
        _ hosts: [Host],
        _ families: Families,
        _ subnet: IPNetwork?
    ) async throws(UpstreamError) -> [Host: Answer] {
        var names: [String] = []
        for host in hosts { names.append(try host.askedName()) }
        var asked = parameters
        asked["dn"] = names.joined(separator: ",")
        asked["q"] = families.aliyunText
        asked["cip"] = subnet?.first.description
        try scheduler.requireService()
        return try await service.askSigned(
            clock,
            { (request) throws(UpstreamError) in request.target = "/v2/d?" + (try self.query(asked)) },
            { (reply) throws(UpstreamError) in
                try AliyunAnswer.version2(try self.content(of: reply), hosts, families)
            }
        )
    }

    // MARK: The question

    private func query(_ asked: [String: String]) throws(UpstreamError) -> String {
        var fields = ["id": account, "m": String(mode), "v": "1.0"]
        if cipher == nil {
            fields.merge(asked) { own, _ in own }
        } else {
            fields["enc"] = try encrypted(asked)
        }
        if let secret {
            fields["exp"] = String(clock.now + Self.validity)
            fields["s"] = Self.signature(fields, key: secret)
        }
        var query = QueryString()
        for (name, value) in fields.sorted(by: { $0.key < $1.key }) { query.add(name, value) }
        return query.text
    }

    /// The signature of a question's fields: those that count, in the order of their names, unencoded.
    static func signature(_ fields: [String: String], key: [UInt8]) -> String {
        let signed = fields.filter { name, value in
            !value.isEmpty
                && (["id", "m", "dn", "cip", "q", "enc", "exp", "tags", "v"].contains(name) || name.hasPrefix("sdns-"))
        }
        let text = signed.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: "&")
        return Digests.hmacSHA256(text, key: key)
    }

    private func encrypted(_ asked: [String: String]) throws(UpstreamError) -> String {
        let members = asked.sorted { $0.key < $1.key }.map { "\(JSONText.quoted($0.key)):\(JSONText.quoted($0.value))" }
        do {
            let sealed = try cipher?.seal(Array("{\(members.joined(separator: ","))}".utf8), vector: vector?())
            return Hex.encode(sealed ?? [])
        } catch {
            throw UpstreamError(.misconfigured, "the question cannot be encrypted: \(error)")
        }
    }

    // MARK: The answer

    private func content(of reply: UpstreamReply) throws(UpstreamError) -> JSONValue {
        let body = JSONValue(reply.body)
        if let error = AliyunError.error(reply, body) { throw error }
        try reply.requireSuccess(hasAccount: secret != nil)
        guard let data = body?["data"] else { throw AliyunAnswer.malformed }
        guard let cipher else {
            guard data.object != nil else { throw AliyunAnswer.malformed }
            return data
        }
        // What is not encrypted although we asked for it may come from anybody.
        guard let sealed = data.string.flatMap({ Base64.decode($0) }), let text = cipher.open(sealed),
            let content = JSONValue(text)
        else {
            throw UpstreamError(.malformedAnswer, "the reply is not encrypted under our key")
        }
        return content
    }
}
