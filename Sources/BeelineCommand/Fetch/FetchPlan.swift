// SPDX-License-Identifier: Apache-2.0

import Beeline
import CookieJar

/// What a fetch does: command line, environment and configuration file as one value. It is made whole before anything is
/// sent, so that a mistake in any of them is known before the first request leaves.
struct FetchPlan: Sendable {
    /// What happens at a status of 400 and above.
    enum ErrorStatus: Hashable, Sendable {
        /// It is a response like any other.
        case accepted
        /// `--fail`: exit code 22, no body.
        case failed
        /// `--fail-with-body`.
        case failedWithBody
    }

    /// What is fetched, in order.
    var transfers: [Transfer]
    /// The client that fetches it.
    var client: ClientConfiguration
    /// `--jar`: read before, written after, or behind the transfers where it is an SQLite file.
    var jar: JarFile?
    /// What a jar has room for.
    var jarBounds = CookieJarConfiguration()
    /// `-b FILE`: read before; of two cookies of one name and place theirs is sent.
    var cookieFiles: [JarFile] = []
    /// `-c FILE`: written after.
    var cookieJar: JarFile?
    var errorStatus = ErrorStatus.accepted
    /// `-i`, `-I`: the head goes where the body goes, before it.
    var includesHead = false
    /// `-I`, `--head`: nothing but the head is printed.
    var dropsBody = false
    /// `-D`: where the heads of all transfers go.
    var dumpHeader: Transfer.Output?
    var isSilent = false
    /// Whether errors are printed; not with `-s` alone.
    var showsErrors = true
    var isVerbose = false
    var reports = false
    var writeOut: WriteOut?
    var retries = 0
    var retryDelay: Duration?

    /// Makes a plan.
    ///
    /// - Parameters:
    ///   - command: the command line.
    ///   - defaults: the environment and the configuration file.
    ///   - files: what reads the files that the command line names.
    /// - Throws: ``CommandFailure``.
    init(_ command: FetchCommand, defaults: Defaults, files: InputFiles) throws(CommandFailure) {
        let draft = try RequestDraft(command.request, cookies: command.cookies, defaults: defaults, files: files)
        client = try ClientConfiguration(command, defaults: defaults, files: files)
        client.userAgent = draft.userAgent.resolved(client.userAgent)
        client.accept = draft.accept.resolved(client.accept)
        transfers = try Transfer.all(command, draft: draft, files: files)

        if client.jar != nil {
            jar = (command.cookies.jar ?? defaults.jar).map { JarFile($0) }
            jarBounds = try command.cookies.bound.configuration()
            cookieFiles = draft.cookieFiles.map { JarFile($0) }
            cookieJar = command.cookies.cookieJar.map { JarFile($0) }
            guard cookieJar.map({ $0.format != nil }) ?? true else {
                throw CommandFailure(.usage, "-c writes a file of text; an SQLite jar is named with --jar")
            }
        }
        let output = command.output
        errorStatus = output.failWithBody ? .failedWithBody : output.fail ? .failed : .accepted
        includesHead = output.include || command.request.head
        dropsBody = command.request.head
        dumpHeader = output.dumpHeader.map { $0 == "-" ? .standardOutput(isNamed: true) : .file($0) }
        isSilent = output.silent
        showsErrors = !output.silent || output.showError
        isVerbose = output.verbose
        reports = output.report
        writeOut = try output.writeOut.map { text throws(CommandFailure) in try WriteOut(text, files: files) }
        guard command.connection.retry >= 0 else { throw CommandFailure(.usage, "--retry: write 0 or more") }
        retries = command.connection.retry
        retryDelay = try Duration(seconds: command.connection.retryDelay, option: "--retry-delay")
    }
}

extension Duration {
    /// The time that an option names; nil where it is absent or 0, which to curl is "as by default".
    init?(seconds: Double?, option: String) throws(CommandFailure) {
        guard let seconds, seconds != 0 else { return nil }
        // A hundred years: more does not fit into nanoseconds.
        guard seconds > 0, seconds < 3_155_760_000 else {
            throw CommandFailure(.usage, "\(option) \(seconds): write seconds of 0 or more")
        }
        self = .nanoseconds(Int64(seconds * 1_000_000_000))
    }

    /// In seconds.
    var seconds: Double {
        let (seconds, attoseconds) = components
        return Double(seconds) + Double(attoseconds) / 1e18
    }
}

extension Int64 {
    /// The whole number that is nearest, the largest or smallest one for what is beyond; 0 for what is no number.
    init(clamping number: Double) {
        self = Int64(exactly: number.rounded()) ?? (number > 0 ? .max : number < 0 ? .min : 0)
    }
}
