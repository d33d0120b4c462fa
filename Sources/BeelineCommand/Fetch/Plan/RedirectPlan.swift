// SPDX-License-Identifier: Apache-2.0

import Beeline
import Names

extension ClientConfiguration {
    /// Applies the options for redirects.
    ///
    /// - Parameters:
    ///   - hasMethod: whether `-X` is given.
    ///   - isPost: whether the request has a body of `-d` or `-F`, so that curl handles it as a POST.
    ///   - sendsReferer: whether `-e` ends in `;auto`.
    mutating func apply(
        _ options: RedirectOptions,
        connection: ConnectionArguments,
        hasMethod: Bool,
        isPost: Bool,
        sendsReferer: Bool
    ) {
        let limit = connection.maxRedirs
        redirects = connection.location ? .follow(limit: limit < 0 ? .max : limit) : .off
        redirectRules.keepsReferer = true
        redirectRules.keepsPost = options.keepsPost
        redirectRules.keepsMethod = hasMethod && !options.obeysStatus
        redirectRules.countsAsPost = isPost
        redirectRules.writesPlusForSpace = true
        redirectRules.refusesExtraSlashes = true
        redirectRules.sendsReferer = sendsReferer
        redirectRules.schemes = options.allowedSchemes.intersection(SchemeList.read(options.redirectSchemes))
    }
}

extension RedirectOptions {
    /// The schemes of URLs that `--proto` allows.
    var allowedSchemes: Set<Scheme> { SchemeList.read(schemes) }
}

/// Lists such as `=https`, `-http` and `all,-http`.
enum SchemeList {
    static let all: Set<Scheme> = [.http, .https]

    /// Evaluates lists from left to right, beginning with ``all``. Other schemes are ignored, because they are not supported.
    static func read(_ lists: [String]) -> Set<Scheme> {
        var schemes = all
        for item in lists.joined(separator: ",").split(separator: ",") {
            let modifiers = item.prefix { "+-=".contains($0) }
            let name = item.dropFirst(modifiers.count).trimmingBlanks.lowercased()
            let named: Set<Scheme> = name == "all" ? all : Scheme(name).map { [$0] } ?? []
            switch modifiers.last {
            case "=": schemes = named.intersection(all)
            case "-": schemes.subtract(named)
            default: schemes.formUnion(named.intersection(all))
            }
        }
        return schemes
    }
}
