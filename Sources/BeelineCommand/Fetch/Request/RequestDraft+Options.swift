// SPDX-License-Identifier: Apache-2.0

import Beeline
import Names

// The options of the request for one URL.

extension RequestDraft {
    /// Returns the options of the request for a URL.
    func options(
        for url: HTTPURL,
        body: BodyPlan,
        _ command: FetchArguments,
        login: LoginPlan,
        files: InputFiles
    ) throws(CommandFailure) -> RequestOptions {
        var options = RequestOptions()
        options.credentials = try credentials(for: url, login: login)
        options.credentialsFollowRedirects = command.redirect.trustsLocations
        options.wire.target = message.target
        options.wire.sendsHost = !omitsHost
        options.cookieHost = cookieHost
        options.wire.connectionOption = connectionOption
        options.wire.followsHTTP10 = true
        options.offersCodings = offersCodings
        options.cookieLimits = Self.cookieLimits
        options.wire.ignoresContentLength = command.transfer.ignoresLength
        options.wire.keepsTransferCoding = command.transfer.raw
        options.decodesEveryBody = command.request.compressed
        let size = body.size(files)
        if message.version == .http10 {
            options.wire.sendsHTTP10 = true
            guard !body.isOfUnknownLength else {
                throw CommandFailure(.uploadFailed, "HTTP/1.0 cannot send a body of unknown length")
            }
        }
        options.expectContinue = try expectContinue(body, size: size)
        return options
    }

    /// Returns the credentials for a URL: those of `-u`, or else those of a netrc file or of the URL. Nil if a field
    /// has the credentials.
    private func credentials(for url: HTTPURL, login: LoginPlan) throws(CommandFailure) -> Credentials? {
        guard fields[.authorization] == nil else { return nil }
        if let credentials { return credentials }
        if let credentials = try login.credentials(for: url) { return credentials }
        return url.user.flatMap { scheme.credentials(user: $0, password: url.password ?? "") }
    }

    /// How long a body waits for `100 Continue`; nil if it is sent at once.
    ///
    /// As in curl, bodies of more than 1 MiB or of unknown length wait, unless `-H "Expect:"` specifies otherwise.
    private func expectContinue(_ body: BodyPlan, size: Int64?) throws(CommandFailure) -> Duration? {
        let limit = try Duration(seconds: message.expectTimeout, option: "--expect100-timeout") ?? .seconds(1)
        if let expect { return expect.lowercased() == "100-continue" ? limit : nil }
        guard body != .none, message.version != .http10 else { return nil }
        return size.map { $0 > 1 << 20 } ?? true ? limit : nil
    }

    /// The host of `-H "Host:"`, whose cookies are sent and kept, as in curl.
    private var cookieHost: Host? {
        guard let authority else { return nil }
        return (try? HTTPURL("http://\(authority)/"))?.host
    }

    /// The limits of curl. Most servers refuse longer fields.
    private static let cookieLimits = {
        var limits = CookieLimits()
        (limits.sentBytes, limits.sentCount, limits.keptCount) = (8_191, 150, 50)
        return limits
    }()
}
