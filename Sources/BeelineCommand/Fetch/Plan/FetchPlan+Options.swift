// SPDX-License-Identifier: Apache-2.0

import Beeline

// The values of a plan that depend on one or two options.

extension EngineConfiguration {
    /// Allows a connection for every transfer of `-Z`, or the number of `--parallel-max-host` for one origin.
    mutating func apply(_ session: SessionArguments) {
        if let limit = session.parallelMaxHost { connectionsPerOrigin = limit }
        guard session.isParallel else { return }
        if session.parallelMaxHost == nil { connectionsPerOrigin = max(connectionsPerOrigin, session.parallelMax) }
        waitersPerOrigin = max(waitersPerOrigin, session.parallelMax)
        limitsTurns = false
    }
}

extension FetchPlan {
    /// Whether every URL connects to its own host and port, so that the rules of `--connect-to` have no effect. The
    /// part then shares the connections of parts without rules, as in curl. False if a redirect may lead elsewhere.
    static func staysInPlace(_ client: ClientConfiguration, urls: [URLArgument], plan: URLPlan) -> Bool {
        guard client.redirects == .off else { return false }
        return urls.allSatisfy { url in
            guard let origin = (try? plan.url(url.text, upload: nil))?.origin else { return false }
            // HSTS may change the scheme, and with it the standard port.
            let port: UInt16 = origin.port == 80 ? 443 : origin.port
            let places = [origin, Origin(scheme: .https, host: origin.host, port: port)]
            return places.allSatisfy { place in
                client.connectTo.lazy.compactMap { $0.target(of: place) }.first ?? place == place
            }
        }
    }

    /// Whether no transfer can ask an upstream: all URLs have addresses, no redirect is followed, and no rule of `--connect-to`
    /// leads elsewhere. The standard upstreams are then not created.
    var needsNoNames: Bool { client.ownUpstreams == nil && Self.asksNoNames(client, urls: command.urls, plan: urlPlan) }

    /// Whether all URLs have addresses, no redirect is followed, and no rule of `--connect-to` leads elsewhere.
    static func asksNoNames(_ client: ClientConfiguration, urls: [URLArgument], plan: URLPlan) -> Bool {
        client.redirects == .off && client.connectTo.isEmpty
            && urls.allSatisfy { (try? plan.url($0.text, upload: nil))?.host.address != nil }
    }
}

extension Transfer.Resume {
    /// Parses the value of `-C`; nil if there is none.
    init?(_ text: String?) throws(CommandFailure) {
        guard let text else { return nil }
        guard text != "-" else {
            self = .whereFileEnds
            return
        }
        guard let offset = Int64(text), offset >= 0 else {
            throw CommandFailure(.usage, "-C \(text): write a byte offset, or -")
        }
        self = .at(offset)
    }
}

extension FetchPlan.SpeedLimit {
    /// Nil if the transfer has no limit.
    init?(_ arguments: TransferArguments) {
        guard arguments.speedLimit != nil || arguments.speedTime != nil else { return nil }
        // As in curl, -y alone means 1 byte per second, and -Y alone 30 s.
        self.init(speed: Int64(arguments.speedLimit ?? 1), time: .seconds(arguments.speedTime ?? 30))
        guard speed > 0, time > .zero else { return nil }
    }
}

extension FetchRetries.Policy {
    init(_ arguments: TransferArguments) throws(CommandFailure) {
        retries = arguments.retry
        delay = try Duration(seconds: arguments.retryDelay, option: "--retry-delay")
        maxTime = try Duration(seconds: arguments.retryMaxTime, option: "--retry-max-time")
        includesAllErrors = arguments.retriesAllErrors
        includesRefusals = arguments.retriesRefusals
    }
}

extension OutputSink.Rules {
    init(_ arguments: OutputArguments) throws(CommandFailure) {
        folder = arguments.folder
        createsFolders = arguments.createsFolders
        clobbers = arguments.clobbers
        usesHeaderName = arguments.usesHeaderName
        if let mode = arguments.fileMode {
            guard (0...0o777).contains(mode) else {
                throw CommandFailure(.usage, "--create-file-mode: write an octal number up to 0777")
            }
            permissions = UInt16(mode)
        }
    }
}

extension TimeCondition {
    /// Parses the value of `-z`: a date, or a file whose modification time is used. A leading `-` inverts the
    /// condition. Nil if the value is neither.
    init?(_ text: String, files: InputFiles) {
        isUnmodified = text.hasPrefix("-")
        let date = text.hasPrefix("-") || text.hasPrefix("+") ? String(text.dropFirst()) : text
        guard let time = DateExpression.parse(date) ?? files.modified(date) else { return nil }
        self.time = time
    }
}
