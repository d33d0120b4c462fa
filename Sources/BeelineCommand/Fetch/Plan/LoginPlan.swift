// SPDX-License-Identifier: Apache-2.0

import Beeline

/// The logins of `--netrc` and related options.
struct LoginPlan: Sendable {
    private let netrc: Netrc?
    private let use: LoginOptions.Use
    private let scheme: AuthScheme
    /// The path of the netrc file, for messages.
    private var file = ""

    /// Reads the file of `--netrc-file`, or else `$NETRC`, or else `~/.netrc`.
    ///
    /// - Throws: ``CommandFailure`` if a file that must exist cannot be read.
    init(
        _ options: LoginOptions,
        scheme: AuthScheme,
        environment: [String: String],
        files: InputFiles
    ) throws(CommandFailure) {
        self.scheme = scheme
        use = options.use
        guard use != .none else {
            netrc = nil
            return
        }
        let home = (environment["HOME"] ?? files.home()).map { "\($0)/.netrc" }
        let variable = environment["NETRC"].flatMap { $0.isEmpty ? nil : $0 }
        do throws(CommandFailure) {
            guard let path = options.file ?? variable ?? home else {
                throw CommandFailure(.readFailed, "-n: there is no home folder; name the file with --netrc-file")
            }
            file = path
            // Only the login that is used must be UTF-8. curl takes any octets in the rest of the file too.
            let text = String(decoding: try files.read(path), as: UTF8.self)
            do throws(BeelineError) {
                netrc = try Netrc(parsing: text)
            } catch {
                throw CommandFailure(.readFailed, "\(path): \(error.message)")
            }
        } catch {
            guard use == .optional else { throw error }
            netrc = nil
        }
    }

    /// Returns the credentials for the first URL; nil if the URL's own credentials take precedence.
    ///
    /// - Throws: ``CommandFailure`` with status `usage` if the login is not UTF-8.
    func credentials(for url: HTTPURL) throws(CommandFailure) -> Credentials? {
        // An optional file does not replace a password in the URL.
        guard use == .required || url.password == nil else { return nil }
        if let login = netrc?.login(for: url.host, user: url.user), login.hasReplacedOctets {
            throw CommandFailure(.usage, "\(file): the login for \(url.host.text) is not UTF-8")
        }
        return source?(url)
    }

    /// Returns the credentials of a URL that a redirect names; nil without a file, and for a login that is not UTF-8.
    var source: (@Sendable (HTTPURL) -> Credentials?)? {
        guard let netrc else { return nil }
        return { [scheme] url in
            guard let login = netrc.login(for: url.host, user: url.user), !login.hasReplacedOctets else { return nil }
            return scheme.credentials(user: login.user, password: login.password)
                ?? .basic(user: login.user, password: login.password)
        }
    }
}

extension Netrc.Login {
    /// Whether the file has octets here that are not UTF-8, which became U+FFFD.
    fileprivate var hasReplacedOctets: Bool { (user + password).unicodeScalars.contains("\u{FFFD}") }
}
