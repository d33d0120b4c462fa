// SPDX-License-Identifier: Apache-2.0

import HTTPDNS
import Names

/// Selects the form of a question by its path, and holds the state that all forms share. It is a class because each
/// question copies the reference out of a lock.
final class Router: Sendable {
    let configuration: ServerConfiguration
    let answerer: Answerer
    let accounts: Accounts
    let quotas: AccountQuotas
    /// Seconds since 1970.
    let clock: @Sendable () -> Int64

    /// - Parameters:
    ///   - accounts: the accounts instead of those of the configuration.
    ///   - quotas: what the accounts have asked already.
    init(
        _ configuration: ServerConfiguration,
        accounts: [ServerAccount]? = nil,
        quotas: AccountQuotas? = nil,
        answerer: Answerer,
        clock: @escaping @Sendable () -> Int64
    ) {
        self.configuration = configuration
        self.accounts = Accounts(accounts ?? configuration.accounts)
        self.quotas = quotas ?? AccountQuotas(configuration.quotas, clock: clock)
        self.answerer = answerer
        self.clock = clock
    }

    /// Whether questions without an account are answered in the forms that have accounts.
    var isOpen: Bool { accounts.isEmpty && !configuration.requiresAccount }

    func with(_ accounts: [ServerAccount]) -> Router {
        Router(configuration, accounts: accounts, quotas: quotas, answerer: answerer, clock: clock)
    }

    /// The network to send to upstreams for a client's network, cut to the allowed prefix. Nil to send none.
    func allowed(_ subnet: IPNetwork) -> IPNetwork? {
        configuration.passesSubnets ? SubnetPolicy.allowed(subnet) : nil
    }

    /// The network to send for an address or network in text form.
    func allowed(_ text: String?) -> IPNetwork? {
        guard let text, let address = IPAddress(text) else { return text.flatMap { IPNetwork($0) }.flatMap(allowed) }
        return IPNetwork(address, prefixLength: address.family == .v4 ? 32 : 128).flatMap(allowed)
    }

    /// Looks up the addresses of names for an account, unless it has reached its quota.
    ///
    /// - Parameters:
    ///   - subnet: The client's network or address, as the request names it.
    ///   - reply: Makes the reply. The answers are nil if the account has reached its quota.
    func lookUp(
        _ names: [DNSName],
        families: Families,
        subnet: String?,
        for client: IPAddress,
        of account: ServerAccount?,
        reply: @escaping @Sendable (_ answers: [HostAnswer]?) -> ServerReply
    ) -> RequestHandling {
        let (subnet, answerer) = (allowed(subnet), answerer.serving(client))
        let lookups = names.count * families.members.count
        // Several lookups count as several questions, and a quota may need a store.
        if lookups == 1, account?.quota == nil,
            let answer = answerer.known(names[0], families.members[0], subnet: subnet)
        {
            return .reply(reply([answer]))
        }
        return .later(lookups: lookups) { [quotas] in
            guard await quotas.allows(lookups, of: account) else { return reply(nil) }
            return reply(await answerer.answers(names, families: families, subnet: subnet))
        }
    }

    func handle(_ request: ServerRequest) -> RequestHandling {
        guard request.method != .other else {
            var reply = ServerReply.text("only GET, HEAD and POST are supported", status: 405)
            reply.allow = "GET, HEAD, POST"
            return .reply(reply)
        }
        let requiresAccount = configuration.requiresAccount
        let json = JSONDialect(router: self)
        let aliyun = AliyunDialect(router: self)
        switch request.path {
        case "/dns-query":
            if requiresAccount { return .reply(Self.accountNeeded(.doh)) }
            // Cloudflare serves both forms at this path.
            let isJSON = request.method == .get && request.rawField("dns") == nil && request.rawField("name") != nil
            return isJSON ? json.handle(request) : MessageDialect(router: self).handle(request)
        case "/resolve": return requiresAccount ? .reply(Self.accountNeeded(.json)) : json.handle(request)
        case "/d": return DNSPodDialect(router: self).handle(request)
        case "/v2/d": return aliyun.handleVersion2(request)
        default: break
        }
        let parts = request.path.split(separator: "/")
        if parts.count == 2, let account = PercentEncoding.decode(parts[0]) {
            switch parts[1] {
            case "d", "sign_d", "resolve", "sign_resolve":
                return aliyun.handle(request, account: account, call: parts[1])
            case "ss": return aliyun.handleSchedule(request, account: account)
            default: break
            }
        }
        return .reply(.notFound)
    }

    private static func accountNeeded(_ form: AccessRecord.Form) -> ServerReply {
        .text("this server requires an account, which this form does not support", status: 403, form: form)
    }
}
