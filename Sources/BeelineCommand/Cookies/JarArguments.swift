// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import CookieJar

/// The jar that a command reads or changes.
struct JarArguments: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The jar: .txt (Netscape format), .json, .sqlite or redis://HOST/NAME (default: $BEELINE_JAR)",
            valueName: "file"
        ),
        completion: .file()
    )
    var jar: String?

    @Option(
        help: ArgumentHelp("Maximum number of cookies in a jar that is a file (default: 3000)", valueName: "number")
    )
    var maxCookies: Int?

    /// Returns the jar's file, from `--jar` or the defaults.
    func file() throws -> JarFile { try JarFile(option: jar) }

    /// The limits of the jar.
    func bounds() throws -> CookieJarConfiguration {
        let bounds = try CookieJarConfiguration(maxCookies: maxCookies)
        return try file().isShared ? .forServer : bounds
    }

    /// Runs `body` with the jar's cookies. Does not change the file.
    func read<Result>(_ body: (CookieJar) throws -> Result) async throws -> Result {
        let (file, bounds) = (try file(), try bounds())
        if !file.isShared, file.path != "-", !FileDescriptor.exists(file.path) {
            // Otherwise a wrong name looks like an empty jar.
            Terminal.standardError.writeLine("Note: there is no jar \(file.path)".singleLine)
        }
        guard !file.isShared else { return try await change(body) }
        let jar = CookieJar(configuration: bounds)
        let result = try await file.source()?.put(into: jar, of: file.path, isOfThisSession: false, bounds: bounds)
        for message in result?.messages ?? [] { Terminal.standardError.writeLine(message.singleLine) }
        return try body(jar)
    }

    /// Runs `body` with the jar's cookies and writes the changes back to the file.
    ///
    /// - Throws: the error of `body`; `ExitCode` after a failed save, whose message is printed already.
    func change<Result>(_ body: (CookieJar) throws -> Result) async throws -> Result {
        let open = try await OpenJar(file(), bounds: bounds())
        for message in open.messages { Terminal.log(message) }
        do {
            let result = try body(open.jar)
            // Ctrl-C is deferred until the end, because it would leave the temporary file behind.
            try await Interruption.runCommand { () async throws(CommandFailure) in
                try await open.save()
                return .ok
            }
            return result
        } catch {
            await open.abandon()
            throw error
        }
    }
}

extension JarFile {
    /// The jar's file, from the value of `--jar` or the defaults.
    init(option: String?) throws {
        guard let path = try option ?? Defaults.load().jar else {
            throw CommandFailure(.usage, "no cookie jar: name one with --jar FILE or in BEELINE_JAR")
        }
        self.init(path)
    }
}

extension CookieJarConfiguration {
    /// Makes a configuration with a limit for the number of cookies; nil is the default.
    ///
    /// - Throws: ``CommandFailure`` if the limit is not within 1 to 1,000,000.
    init(maxCookies: Int?) throws(CommandFailure) {
        self.init()
        guard let maxCookies else { return }
        guard (1...1_000_000).contains(maxCookies) else {
            throw CommandFailure(.usage, "--max-cookies \(maxCookies): write 1 to 1000000")
        }
        self.maxCookies = maxCookies
    }

    /// The limits of a jar on a server: all its cookies are read, and the server has its own limit.
    static var forServer: CookieJarConfiguration {
        var bounds = CookieJarConfiguration()
        (bounds.maxCookies, bounds.maxCookiesPerDomain) = (1_000_000, 1_000_000)
        return bounds
    }
}

/// Options for the context of a cookie request, in addition to the URL.
struct ContextArguments: ParsableArguments {
    /// Values of `--api`.
    enum API: String, ExpressibleByArgument, CaseIterable {
        case http, dom
    }

    /// Values of `--site`.
    enum Site: String, ExpressibleByArgument, CaseIterable {
        case same, lax, cross
    }

    @Option(help: "Access by a request (http) or by a script (dom)")
    var api: API = .http

    @Option(help: "From the same site, by navigation from another (lax), or by any request of another (cross)")
    var site: Site = .same

    @Option(name: [.customShort("X"), .customLong("request")], help: ArgumentHelp("The method", valueName: "method"))
    var method = "GET"

    var context: CookieContext { CookieContext(api: api.rawValue, site: site.rawValue, method: method) }
}

extension CookieContext {
    /// Makes a context from the words of ``ContextArguments`` and `replay`. Other words mean `http` and `same`.
    init(api: String?, site: String?, method: String) {
        self.init(
            api: api == "dom" ? .dom : .http,
            site: site == "cross" ? .cross : site == "lax" ? .lax : .same,
            isSafeMethod: CookieContext.isSafe(method)
        )
    }
}
