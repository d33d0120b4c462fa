// SPDX-License-Identifier: Apache-2.0

#if Redis
import Beeline
import BeelineRedis
import BeelineWebDriver
import CookieJar

/// Runs `beeline login`.
struct LoginRunner: Sendable {
    /// The exit code of a login program that failed.
    private struct ProgramFailure: Error {
        let code: Int32
    }

    let url: HTTPURL
    let cookie: String
    let wait: Duration
    let command: [String]
    let environment: [String: String]
    let descriptors: InheritedDescriptors

    /// Returns the exit code.
    func run(_ file: JarFile) async throws -> Int32 {
        let shared = try await OpenJar.shared(file, bounds: .forServer)
        do {
            let outcome = try await shared.ensureLoggedIn(to: url.origin, within: wait) { jar in
                jar.cookies(for: url).contains { $0.name == cookie }
            } logIn: { jar in
                try await logIn(jar)
            }
            try await shared.close()
            let text =
                switch outcome {
                case .alreadyLoggedIn: "already logged in"
                case .loggedIn: "logged in"
                case .loggedInByAnother: "another process logged in"
                }
            Terminal.log("\(url.origin): \(text)")
            return 0
        } catch {
            try? await shared.close()
            switch error {
            case let error as ProgramFailure: return error.code
            case let error as RedisError: throw CommandFailure(error)
            default: throw error
            }
        }
    }

    /// Runs the program with a file of the jar's cookies, and applies its changes to the jar.
    private func logIn(_ jar: CookieJar) async throws {
        let folder = try CookieFolder()
        defer { folder.remove() }
        let file = JarFile(folder.file)
        try file.save(jar)
        // Read them back from the file: its format does not hold all attributes, and unchanged cookies must keep
        // theirs.
        let before = try await file.source()?.found.cookies ?? []
        var environment = environment
        environment["BEELINE_JAR"] = file.path
        let code = await ChildProcess(command, environment: environment, descriptors: descriptors).run()
        guard code == 0 else { throw ProgramFailure(code: code) }
        try Task.checkCancellation()
        // Reading anything but a file, such as a pipe, could block for ever, with the lease of all machines.
        let after: [Cookie] =
            if FileDescriptor.isRegular(file.path) { try await file.source()?.found.cookies ?? [] } else { [] }
        let old = Dictionary(before.map { (CookiePlace($0), CookieContent($0)) }) { $1 }
        let present = Set(after.map { CookiePlace($0) })
        // A program may write only the cookies of its site. Keep those of other sites.
        let host = url.origin.host.text
        for gone in before where !present.contains(CookiePlace(gone)) {
            guard gone.domain == host || (!gone.isHostOnly && host.hasSuffix(".\(gone.domain)")) else { continue }
            jar.remove(gone)
        }
        jar.insert(after.filter { old[CookiePlace($0)] != CookieContent($0) })
        guard jar.cookies(for: url).contains(where: { $0.name == cookie }) else {
            throw CommandFailure(
                .httpError,
                "the program did not log in: \(url.origin) would get no cookie \(cookie); check the program, or --cookie"
            )
        }
    }
}
#endif
