// SPDX-License-Identifier: Apache-2.0

import Beeline

/// The logins of `--netrc` and related options.
struct LoginPlan: Sendable {
    private let netrc: Netrc?
    private let use: LoginOptions.Use
    private let scheme: AuthScheme

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
            let text = try files.text(path, hasComments: true)
            do throws(BeelineError) {
                netrc = try Netrc(parsing: text)
            } catch {
                throw CommandFailure(.readFailed, "\(path): \(error.message)")
            }
        } catch {
            // A file with other octets would log in with another password, or not at all.
            guard use == .optional, error.status == .readFailed else { throw error }
            netrc = nil
        }
    }

    /// Returns the credentials for the first URL; nil if the URL's own credentials take precedence.
    func credentials(for url: HTTPURL) -> Credentials? {
        // An optional file does not replace a password in the URL.
        guard use == .required || url.password == nil else { return nil }
        return source?(url)
    }

    /// Returns the credentials of a URL that a redirect names; nil without a file.
    var source: (@Sendable (HTTPURL) -> Credentials?)? {
        guard let netrc else { return nil }
        return { [scheme] url in
            netrc.login(for: url.host, user: url.user).map { login in
                scheme.credentials(user: login.user, password: login.password)
                    ?? .basic(user: login.user, password: login.password)
            }
        }
    }
}
