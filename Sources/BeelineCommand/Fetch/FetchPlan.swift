// SPDX-License-Identifier: Apache-2.0

import Beeline
import CookieJar

/// A validated fetch, made from the command line, the environment and the configuration file. All input errors are found before
/// the first request is sent.
struct FetchPlan: Sendable {
    /// The handling of a status of 400 or higher.
    enum ErrorStatus: Hashable, Sendable {
        /// The response is handled like any other.
        case accepted
        /// `--fail`: exits with code 22 and prints no body.
        case failed
        /// `--fail-with-body`: exits with code 22 and prints the body.
        case failedWithBody
    }

    /// The transfers, in command-line order.
    var transfers: [Transfer]
    /// The configuration of the client for all transfers.
    var client: ClientConfiguration
    /// Whether the client sends and keeps cookies; false with `--no-cookies`.
    var hasCookies: Bool
    /// `--jar`: read before the transfers and written after them. An SQLite jar is written during them.
    var jar: JarFile?
    /// The limits of the jar.
    var jarBounds = CookieJarConfiguration()
    /// `-b FILE`: read before the transfers. These cookies replace those of the jar with the same name, domain and path.
    var cookieFiles: [JarFile] = []
    /// `-j`: the files of `-b` give no cookies of a session.
    var dropsSessionCookies = false
    /// `-c FILE`: written after the transfers.
    var cookieJar: JarFile?
    /// `--hsts`: read before the transfers and written after them.
    var hsts = HSTSFiles([])
    var errorStatus = ErrorStatus.accepted
    /// `-i` and `-I`: prints the response head before the body.
    var includesHead = false
    /// `-I`: prints only the response head.
    var dropsBody = false
    /// `-D`: the output for the response heads of all transfers.
    var dumpHeader: Transfer.Output?
    /// `--suppress-connect-headers`.
    var hidesTunnelHeads = false
    var isSilent = false
    /// Whether errors are printed; false with `-s` without `-S`.
    var showsErrors = true
    var isVerbose = false
    var reports = false
    var writeOut: WriteOut?
    var retries = 0
    var retryDelay: Duration?

    /// Validates the input and makes a plan.
    ///
    /// - Parameters:
    ///   - command: the command line.
    ///   - defaults: the environment and the configuration file.
    ///   - files: reads the files that the command line names.
    /// - Throws: ``CommandFailure`` for invalid input.
    init(_ command: FetchArguments, defaults: Defaults, files: InputFiles) throws(CommandFailure) {
        let draft = try RequestDraft(
            command.request,
            message: command.message,
            range: command.transfer.range,
            cookies: command.cookies,
            defaults: defaults,
            files: files
        )
        client = try ClientConfiguration(command, defaults: defaults, files: files)
        client.userAgent = draft.userAgent.resolved(client.userAgent)
        client.accept = draft.accept.resolved(client.accept)
        let agent = command.request.userAgent ?? defaults.userAgent ?? ClientConfiguration().userAgent ?? ""
        try client.apply(
            command.proxy,
            userAgent: agent.isEmpty ? nil : agent,
            defaults: defaults,
            files: files
        )
        client.apply(
            command.redirect,
            connection: command.connection,
            hasMethod: draft.hasMethod,
            isPost: draft.isPost,
            sendsReferer: draft.sendsReferer
        )
        let login = try LoginPlan(
            command.login,
            scheme: draft.scheme,
            environment: defaults.environment,
            files: files
        )
        client.credentialSource = login.source
        transfers = try Transfer.all(command, draft: draft, login: login, files: files)
        hidesTunnelHeads = command.proxy.hidesTunnelHeads

        hasCookies = !command.cookies.noCookies
        if hasCookies {
            jar = (command.cookies.jar ?? defaults.jar).map { JarFile($0) }
            jarBounds = try CookieJarConfiguration(maxCookies: command.cookies.maxCookies)
            cookieFiles = draft.cookieFiles.map { JarFile($0) }
            dropsSessionCookies = command.cookies.dropsSession
            cookieJar = command.cookies.cookieJar.map { JarFile($0) }
            guard cookieJar.map({ $0.format != nil }) ?? true else {
                throw CommandFailure(.usage, "-c writes a text file; use --jar for an SQLite jar")
            }
        }
        hsts = HSTSFiles(command.cookies.hsts)
        let output = command.output
        errorStatus = output.errorStatus
        includesHead = output.include || command.request.head
        dropsBody = command.request.head
        dumpHeader = output.dumpHeader.map { $0 == "-" ? .standardOutput(isNamed: true) : .file($0) }
        isSilent = command.session.isSilent
        showsErrors = !isSilent || command.session.showsErrors
        isVerbose = command.session.isVerbose
        reports = command.session.report
        writeOut = try output.writeOut.map { text throws(CommandFailure) in try WriteOut(text, files: files) }
        retries = command.transfer.retry
        retryDelay = try Duration(seconds: command.transfer.retryDelay, option: "--retry-delay")
    }
}

extension Duration {
    /// Makes the duration of an option; nil if it is absent or 0, curl's value for the default.
    init?(seconds: Double?, option: String) throws(CommandFailure) {
        guard let seconds, seconds != 0 else { return nil }
        // The limit is 100 years, which fits into 64 bits of nanoseconds.
        guard seconds > 0, seconds < 3_155_760_000 else {
            throw CommandFailure(.usage, "\(option) \(seconds): write seconds of 0 or more")
        }
        self = .nanoseconds(Int64(seconds * 1_000_000_000))
    }

    /// The duration in seconds.
    var seconds: Double {
        let (seconds, attoseconds) = components
        return Double(seconds) + Double(attoseconds) / 1e18
    }
}

extension Int64 {
    /// Rounds to the nearest integer and clamps to 64 bits; NaN becomes 0.
    init(clamping number: Double) {
        self = Int64(exactly: number.rounded()) ?? (number > 0 ? .max : number < 0 ? .min : 0)
    }
}
