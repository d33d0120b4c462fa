// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineServer

/// The validated server configuration from the command line.
struct ServePlan: Sendable {
    var configuration = ServerConfiguration()
    let accessLog: String?
    let accessLogFormat: AccessLogFormat
    private let accountTexts: [String]
    /// By ID of the account.
    private let accountQuotas: [String: AccountQuota]
    private let files: InputFiles

    /// - Parameter socket: the socket that the process got from its parent; it is used instead of `--listen`.
    init(_ arguments: ServeArguments, files: InputFiles, socket: CInt? = nil) throws(CommandFailure) {
        self.files = files
        accountTexts = arguments.account
        accountQuotas = try AccountQuota.parse(arguments.accountQuota)
        accessLog = arguments.operation.accessLog
        accessLogFormat = arguments.operation.accessLogFormat
        configuration.listen = try Endpoint(arguments.listen, defaultPort: 8_053, option: "--listen")
        configuration.announced = try arguments.announce.map { text throws(CommandFailure) in
            try Endpoint(text, defaultPort: 80, option: "--announce")
        }
        configuration.trustedProxies = try ServerOptions.networks(arguments.trustProxy, of: "--trust-proxy")
        configuration.proxyProtocol = try ServerOptions.networks(arguments.proxyProtocol, of: "--proxy-protocol")
        configuration.drainDelay = try arguments.operation.checkedDrainDelay()
        configuration.privateNames = try ServerOptions.privateNames(arguments.privateNames)
        configuration.listeningSocket = socket
        configuration.zones = arguments.files.zone
        configuration.tls = try arguments.files.tls()
        let rate = try ServerOptions.rate(arguments.rate)
        configuration.questionsPerSecond = rate == 0 ? nil : rate
        configuration.burst = Int(min(rate * 5, 1_000_000))
        guard (1...1_000_000).contains(arguments.maxConnections) else {
            throw CommandFailure(.usage, "--max-connections: write 1 to 1000000")
        }
        configuration.maxConnections = arguments.maxConnections
        configuration.requiresAccount = arguments.requireAccount
        configuration.accounts = try accounts()
        if let id = accountQuotas.keys.sorted().first(where: { id in !configuration.accounts.contains { $0.id == id } })
        {
            throw CommandFailure(.usage, "--account-quota \(id): there is no --account \(id)")
        }
    }

    /// Returns the configuration with an access log. Prints reload errors on standard error.
    func configuration(log: (@Sendable (AccessRecord) -> Void)?) -> ServerConfiguration {
        var configuration = configuration
        configuration.accessLog = log
        configuration.onReloadFailure = { error in
            Terminal.log("the previous state stays in use: \(error)")
        }
        return configuration
    }

    private static let accountForm = "ID:SECRETFILE or ID:SECRETFILE:AESFILE"

    /// Returns the accounts, reading their secret files again.
    func accounts() throws(CommandFailure) -> [ServerAccount] {
        var accounts: [ServerAccount] = []
        for text in accountTexts {
            let parts = text.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false).map(String.init)
            guard parts.count >= 2, parts.allSatisfy({ !$0.isEmpty }) else {
                throw CommandFailure(.usage, "--account: write \(Self.accountForm)")
            }
            let key = parts.count > 2 ? try files.secret(parts[2], of: "--account", form: Self.accountForm) : nil
            let secret = try files.secret(parts[1], of: "--account", form: Self.accountForm)
            do throws(ServerError) {
                var account = try ServerAccount(id: parts[0], secret: secret, encryptionKey: key)
                account.quota = accountQuotas[parts[0]]
                accounts.append(account)
            } catch {
                throw CommandFailure(.usage, "--account: \(error.message)")
            }
        }
        return accounts
    }
}

extension InputFiles {
    /// Returns the first non-blank line of a file without surrounding whitespace.
    func secret(_ path: String, of option: String, form: String) throws(CommandFailure) -> String {
        let text = try secretText(path, of: option, form: form)
        return String(text.drop(while: \.isWhitespace).prefix { !$0.isNewline }.trimmingSpace)
    }
}

extension ResolverConfiguration {
    /// Gives the cache the size for a server.
    mutating func enlargeCache() { (cache.maxNames, cache.maxBytes) = (100_000, 64 << 20) }
}
