// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Beeline
import BeelineWebDriver

/// `beeline login -- COMMAND…`: runs a login program once for all processes that share a jar.
struct LoginCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "login",
        abstract: "Run a login program, once for all machines that share a jar.",
        usage: "beeline login --jar redis://HOST/NAME --origin URL --cookie NAME -- <command> ...",
        discussion: """
            The jar is logged in if it would send the cookie to the origin. If it is, the program does not run. If another \
            process is logging in, this one waits for the cookie. Otherwise the program runs under a lease, which ends if this \
            process does.

            The program finds the jar's cookies in a temporary file in Netscape's format, whose path is in BEELINE_JAR, and \
            changes them there: `beeline --jar` and `curl -b "$BEELINE_JAR" -c "$BEELINE_JAR"` do. If it exits with 0, its \
            changes are written to the jar in one step. Otherwise nothing is written, and the exit code is the program's.
            """
    )

    @Option(help: ArgumentHelp("The jar: redis://HOST/NAME (default: $BEELINE_JAR)", valueName: "url"))
    var jar: String?

    @Option(
        help: ArgumentHelp("The URL of the site that the login is for; each origin has its own lease", valueName: "url")
    )
    var origin: String

    @Option(help: ArgumentHelp("The cookie that the origin gets when the jar is logged in", valueName: "name"))
    var cookie: String

    @Option(
        help: ArgumentHelp(
            "Wait this long for another process's login, in seconds (default: 60)",
            valueName: "seconds"
        )
    )
    var wait: Double?

    @Argument(parsing: .postTerminator, help: "The program and its arguments, after --")
    var command: [String]

    func run() async throws {
        // List the descriptors before opening any, because the program may be given some.
        let descriptors = ProgramLaunch.inherited
        guard !command.isEmpty else { throw CommandFailure(.usage, "no program: write beeline login … -- COMMAND") }
        let wait = wait ?? 60
        guard wait >= 0, wait <= 86_400 else {
            throw CommandFailure(.usage, "--wait \(wait): write 0 to 86400 seconds")
        }
        let file = try JarFile(option: jar)
        guard file.isShared else {
            throw CommandFailure(
                .usage,
                "\(file.path) is not shared between machines; name a jar with redis://HOST/NAME"
            )
        }
        #if Redis
        let runner = LoginRunner(
            url: try HTTPURL(argument: origin),
            cookie: cookie,
            wait: .milliseconds(Int64(wait * 1_000)),
            command: command,
            environment: try Defaults.load().environment,
            descriptors: descriptors
        )
        let code = try await runner.run(file)
        if code != 0 { throw ExitCode(code) }
        #else
        throw CommandFailure(.usage, "beeline login needs a build with the trait Redis")
        #endif
    }
}
