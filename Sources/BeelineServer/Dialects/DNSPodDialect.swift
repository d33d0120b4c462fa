// SPDX-License-Identifier: Apache-2.0

import HTTPDNS
import Names

/// DNSPod's form: `/d?dn=…`, in the clear, or with the names and the answer under AES.
struct DNSPodDialect: Sendable {
    let answerer: Answerer
    let accounts: Accounts
    let subnets: SubnetRule
    let requiresAccount: Bool
    /// Seconds since 1970.
    let clock: @Sendable () -> Int64

    /// Names of one question, as with the service itself.
    private static let maxNames = 8

    func handle(_ request: ServerRequest) -> Handling {
        let fields = request.fields
        var cipher: AESCipher?
        var account: String?
        if let id = fields["id"], fields["alg"] == "aes" {
            guard let known = accounts[id], let key = known.dnspodCipher else {
                return .reply(Self.refusal("the account is not known", 401))
            }
            (cipher, account) = (key, id)
        } else if let token = fields["token"] {
            guard accounts.hasToken(token) else { return .reply(Self.refusal("the token is not known", 401)) }
            account = "token"
        } else if requiresAccount || fields["alg"] != nil {
            return .reply(Self.refusal("the question needs an account, and alg=aes", 401))
        }
        guard var text = fields["dn"] else { return .reply(Self.refusal("dn is missing", 400)) }
        if let cipher {
            guard let octets = Hex.decode(text).flatMap(cipher.open),
                let open = String(validating: octets, as: UTF8.self)
            else { return .reply(Self.refusal("dn is not encrypted under the account's key", 401)) }
            text = open
        }
        if account != nil, let mark = text.firstIndex(of: ";") {
            // Newer programs say for how long the question holds.
            guard let expiry = Int64(text[text.index(after: mark)...]), expiry >= clock() else {
                return .reply(Self.refusal("the question has expired", 401))
            }
            text = String(text[..<mark])
        }
        let names = text.split(separator: ",").map { JSONDialect.name(String($0)) }
        guard !names.isEmpty, names.count <= Self.maxNames, !names.contains(nil) else {
            return .reply(Self.refusal("dn holds 1 to \(Self.maxNames) names, parted by commas", 400))
        }
        let hosts = names.compactMap(\.self)
        let options = Options(fields, client: request.client, names: hosts.count)
        let subnet = subnets.allowed(Self.address(fields["ip"], cipher))
        return .later { [cipher, account] in
            var answers: [HostAnswer] = []
            for host in hosts { answers.append(await answerer.answers(host, options.families, subnet)) }
            return Self.reply(answers, options, cipher, account)
        }
    }

    /// The address of `ip`, which the service's documents have encrypted like the names, and its own programs in the clear.
    private static func address(_ text: String?, _ cipher: AESCipher?) -> String? {
        guard let text, let octets = Hex.decode(text).flatMap({ cipher?.open($0) }) else { return text }
        return String(validating: octets, as: UTF8.self)
    }

    /// How the answer is to be written.
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
        _ options: Options,
        _ cipher: AESCipher?,
        _ account: String?
    ) -> ServerReply {
        guard answers.contains(where: { !$0.isFailure }) else {
            var reply = refusal("no upstream could say", 502)
            reply.account = account
            reply.names = answers.map(\.name)
            return reply
        }
        let lines = answers.map { line($0, options) }
        var body = Array(lines.joined(separator: "\n").utf8)
        if let cipher, !body.isEmpty {
            body = (try? cipher.seal(body)).map { Array(Hex.encode($0).utf8) } ?? []
        }
        var reply = ServerReply(200, "text/plain; charset=utf-8", body)
        reply.form = .dnspod
        reply.account = account
        reply.names = answers.map(\.name)
        reply.types = options.families.typeLabels
        reply.outcome = answers[0].isNoName ? "NXDOMAIN" : "NOERROR"
        reply.source = answers[0].source
        // What is encrypted or names an account is nobody else's.
        reply.maxAge = account == nil ? answers.map(\.ttl).min() : nil
        return reply
    }

    private static func line(_ answer: HostAnswer, _ options: Options) -> String {
        func list(_ family: IPAddress.Family) -> String {
            guard let part = answer[family], !part.addresses.isEmpty else { return "0" }
            let addresses = part.addresses.map(\.description).joined(separator: ";")
            return options.hasTTL ? "\(addresses),\(part.ttl)" : addresses
        }
        let body: String
        switch options.families {
        case .both: body = "\(list(.v4))-\(list(.v6))"
        case .v6: body = list(.v6)
        // Of one name alone the form says nothing at all where there is nothing.
        default: body = list(.v4) == "0" && !options.isNamed ? "" : list(.v4)
        }
        return (options.isNamed ? "\(answer.name).:" : "") + body + (options.client.map { "|\($0)" } ?? "")
    }

    private static func refusal(_ text: String, _ status: Int) -> ServerReply {
        var reply = ServerReply.text(text, status: status)
        reply.form = .dnspod
        reply.outcome = "refused"
        return reply
    }
}

extension Families {
    /// The record types of the families.
    var typeLabels: String { self == .both ? "A,AAAA" : self == .v6 ? "AAAA" : "A" }
}
