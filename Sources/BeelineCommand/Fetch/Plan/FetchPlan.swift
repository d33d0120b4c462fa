// SPDX-License-Identifier: Apache-2.0

import Beeline
import CookieJar

/// A validated part of a fetch, made from the command line, the environment and the configuration file. Errors in
/// options are found before the first request is sent.
struct FetchPlan: Sendable {
    /// The limit below which a transfer is too slow: `-Y` and `-y`.
    struct SpeedLimit: Hashable, Sendable {
        /// In bytes per second.
        var speed: Int64
        var time: Duration
    }

    /// The options. Those that the plan has no value for are used as they are.
    let command: FetchArguments
    let draft: RequestDraft
    let urlPlan: URLPlan
    let login: LoginPlan
    /// `-C`.
    let resume: Transfer.Resume?
    /// The configuration of the client for all transfers.
    var client: ClientConfiguration
    /// Whether the client sends and keeps cookies; false with `--no-cookies`.
    let hasCookies: Bool
    /// Parts with equal keys share a client.
    let clientKey: ClientKey
    /// `--jar`: read before the transfers and written after them. An SQLite jar is written during them.
    var jar: JarFile?
    /// The limits of the jar.
    var jarBounds = CookieJarConfiguration()
    /// `-b FILE`: read before the transfers. These cookies replace those of the jar with the same name, domain and path.
    var cookieFiles: [JarFile] = []
    /// `-c FILE`: written after the transfers.
    var cookieJar: JarFile?
    /// `-i` and `-I`: prints the response head before the body.
    var includesHead = false
    /// `-D`: the output for the response heads of all transfers.
    var dumpHeader: HeadDump?
    var writeOut: WriteOut?
    let retries: FetchRetries.Policy
    let outputRules: OutputSink.Rules
    let condition: TimeCondition?
    /// `--limit-rate`, in bytes per second.
    let rateLimit: Int64?
    /// `--max-filesize`, in bytes.
    let maxFileSize: Int64?
    let speedLimit: SpeedLimit?
    /// Messages for the user, one line each.
    private(set) var messages: [String] = []
    /// Notes and warnings about options, in curl's words and with its prefixes.
    private(set) var warnings: [String] = []

    /// The values that the settings of a client depend on.
    struct ClientKey: Hashable, Sendable {
        /// All options except those that affect only the request or the output.
        var arguments: FetchArguments
        var userAgent: String?
        var accept: String?
        var decodesContent: Bool
    }

    /// Validates the input and makes a plan.
    ///
    /// - Parameters:
    ///   - command: the command line.
    ///   - defaults: the environment and the configuration file.
    ///   - files: reads the files that the command line names.
    /// - Throws: ``CommandFailure`` for invalid input.
    init(_ command: FetchArguments, defaults: Defaults, files: InputFiles) throws(CommandFailure) {
        let (output, transfer) = (command.output, command.transfer)
        var draft = try RequestDraft(
            command.request,
            message: command.message,
            range: transfer.range,
            cookies: command.cookies,
            defaults: defaults,
            files: files
        )
        warnings = draft.warnings
        client = try ClientConfiguration(command, defaults: defaults, files: files)
        client.userAgent = draft.userAgent.resolved(client.userAgent)
        client.accept = draft.accept.resolved(client.accept)
        let agent = command.request.userAgent ?? defaults.userAgent ?? ClientConfiguration().userAgent ?? ""
        try client.apply(
            command.proxy,
            userAgent: agent.isEmpty ? nil : agent,
            defaults: defaults,
            files: files,
            warnings: &warnings
        )
        client.apply(
            command.redirect,
            connection: command.connection,
            hasMethod: draft.hasMethod,
            isPost: draft.isPost,
            sendsReferer: draft.sendsReferer
        )
        let environment = defaults.environment
        login = try LoginPlan(command.login, scheme: draft.scheme, environment: environment, files: files)
        // As in curl, a token excludes the logins of the file, after redirects too.
        client.credentialSource = command.request.oauth2Bearer == nil ? login.source : nil
        urlPlan = try URLPlan(command, data: draft.query, files: files)
        self.command = command
        var ofClient = command.ofClient
        if Self.staysInPlace(client, urls: command.urls, plan: urlPlan) {
            (client.connectTo, ofClient.socket.connectTo) = ([], [])
        }
        if Self.asksNoNames(client, urls: command.urls, plan: urlPlan) {
            // No name is resolved, so there is no answer to allow.
            client.resolver.check.allowsLocalAnswers = defaults.allowsLocalAnswers
            ofClient.names.allowsLocalAnswers = false
        }
        if transfer.raw {
            client.decodesContent = false
            if command.request.compressed { draft.offerCodings() }
        }
        client.engine.apply(command.session)
        clientKey = ClientKey(
            arguments: ofClient,
            userAgent: client.userAgent,
            accept: client.accept,
            decodesContent: client.decodesContent
        )
        guard !output.destinations.contains(.file("")) else {
            throw CommandFailure(.writeFailed, "-o: the name of the file is empty")
        }
        if output.destinations.count > command.urls.count {
            warnings.append("Warning: Got more output options than URLs")
        }
        let uploads = command.request.uploadFile
        if let remark = draft.remark(uploads: uploads.contains { !$0.isEmpty }) { warnings.append(remark) }
        resume = try Transfer.Resume(transfer.continueAt)
        guard resume == nil || transfer.range == nil else {
            throw CommandFailure(.usage, "-C and -r exclude each other")
        }
        guard resume == nil || (output.clobbers != false && !output.removesOnError) else {
            throw CommandFailure(.usage, "-C excludes --no-clobber and --remove-on-error")
        }
        // The server would choose the file to which its response is appended.
        guard resume == nil || !output.usesHeaderName else {
            throw CommandFailure(.usage, "-C and -J exclude each other")
        }
        if case .at(1...)? = resume, draft.isPost, uploads.isEmpty { throw TransferRun.resumedPost }
        hasCookies = !command.cookies.noCookies
        if hasCookies {
            jar = (command.cookies.jar ?? defaults.jar).map { JarFile($0) }
            jarBounds = try CookieJarConfiguration(maxCookies: command.cookies.maxCookies)
            cookieFiles = draft.cookieFiles.map { JarFile($0) }
            guard !cookieFiles.contains(where: \.isShared) else {
                throw CommandFailure(.usage, "-b reads files; use --jar for a jar on a server")
            }
            cookieJar = command.cookies.cookieJar.map { JarFile($0) }
            guard cookieJar.map({ $0.format != nil }) ?? true else {
                throw CommandFailure(.usage, "-c writes a text file; use --jar for an SQLite jar or a server")
            }
        }
        includesHead = output.include || command.request.head
        dumpHeader = output.dumpHeader.map { HeadDump(path: $0, createsFolders: output.createsFolders) }
        writeOut = try output.writeOut.map { text throws(CommandFailure) in try WriteOut(text, files: files) }
        outputRules = try OutputSink.Rules(output)
        retries = try FetchRetries.Policy(transfer)
        (rateLimit, maxFileSize) = try (
            Self.limit(transfer.limitRate, "--limit-rate"), Self.limit(transfer.maxFileSize, "--max-filesize")
        )
        speedLimit = SpeedLimit(transfer)
        guard command.urls.count <= 1 || (transfer.etagSave == nil && transfer.etagCompare == nil) else {
            throw CommandFailure(
                .usage,
                "--etag-save and --etag-compare need one URL; write --next before the options of another"
            )
        }
        if let path = transfer.etagCompare { draft.setETag(try ETagFile(path).read(files)) }
        condition = transfer.timeCondition.flatMap { TimeCondition($0, files: files) }
        if let text = transfer.timeCondition, condition == nil {
            messages.append("-z \(text): it is neither a date nor a file, so the request has no condition")
        }
        self.draft = draft
        // Finds options that exclude each other.
        _ = try draft.request(upload: uploads.first.flatMap { $0.isEmpty ? nil : $0 })
    }

    /// Parses the value of a limit; nil if there is none, or if it is 0.
    private static func limit(_ text: String?, _ option: String) throws(CommandFailure) -> Int64? {
        guard let text else { return nil }
        let bytes = try ByteCount.parse(text, option: option)
        return bytes > 0 ? bytes : nil
    }
}

extension FetchArguments {
    /// The arguments without those that affect only the request or the output.
    fileprivate var ofClient: FetchArguments {
        var others = self
        others.urls = []
        (others.output, others.transfer, others.session) = (.init(), .init(), .init())
        others.cookies.cookie = []
        (others.cookies.jar, others.cookies.cookieJar) = (nil, nil)
        (others.request.method, others.request.userAgent, others.request.referer) = (nil, nil, nil)
        (others.request.headers, others.request.data, others.request.form) = ([], [], [])
        (others.request.uploadFile, others.request.get, others.request.head) = ([], false, false)
        // A token excludes the logins of a netrc file.
        if request.oauth2Bearer != nil { others.login = .init() }
        (others.request.user, others.request.oauth2Bearer) = (nil, nil)
        // The client needs the scheme only for logins of a netrc file.
        if others.login.use == .none {
            (others.request.basic, others.request.digest, others.request.anyauth) = (false, false, false)
        }
        return others
    }
}
